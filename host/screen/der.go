package screen

import (
	"encoding/asn1"
	"slices"
	"strings"
)

// The object identifiers of a key that a password protects (RFC 8018, RFC 7292), and of the
// content of a PKCS #12 file.
var (
	pbes2     = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 5, 13}
	pbePKCS12 = "1.2.840.113549.1.12.1."
	pkcs7     = "1.2.840.113549.1.7."
)

type algorithm struct {
	ID         asn1.ObjectIdentifier
	Parameters asn1.RawValue `asn1:"optional"`
}

// isKeyDER reports whether a file is a private key in DER, by the form of its first value: a key of
// RSA (RFC 8017), of an elliptic curve (RFC 5915), of any kind (RFC 5958), one that a password
// protects, or a PKCS #12 file.
func isKeyDER(text []byte) bool {
	var outer asn1.RawValue
	if len(text) < 16 || text[0] != 0x30 {
		return false
	}
	if _, err := asn1.Unmarshal(text, &outer); err != nil { // also of a file that is longer than what was read
		return false
	}
	var first asn1.RawValue
	rest, err := asn1.Unmarshal(outer.Bytes, &first)
	if err != nil || first.Class != asn1.ClassUniversal {
		return false
	}
	if first.Tag == asn1.TagSequence {
		var with algorithm
		var key []byte
		if _, err := asn1.Unmarshal(first.FullBytes, &with); err != nil {
			return false
		}
		rest, err := asn1.Unmarshal(rest, &key)
		return err == nil && len(rest) == 0 && (with.ID.Equal(pbes2) || strings.HasPrefix(with.ID.String(), pbePKCS12))
	}
	return first.Tag == asn1.TagInteger && isVersioned(first.Bytes, rest)
}

// isVersioned reports whether the values behind a version are those of a key.
func isVersioned(version, rest []byte) bool {
	if len(version) != 1 {
		return false
	}
	var second, third asn1.RawValue
	rest, err := asn1.Unmarshal(rest, &second)
	if err != nil || second.Class != asn1.ClassUniversal {
		return false
	}
	switch second.Tag {
	case asn1.TagOctetString:
		return version[0] == 1 && slices.Contains([]int{16, 20, 24, 28, 32, 48, 64, 66}, len(second.Bytes))
	case asn1.TagInteger: // and six more numbers
		numbers := 1
		for err == nil && len(rest) > 0 {
			if rest, err = asn1.Unmarshal(rest, &third); err == nil && third.Tag == asn1.TagInteger {
				numbers++
			}
		}
		return err == nil && version[0] <= 1 && numbers >= 5 // DSA's has five, RSA's eight
	}
	var with algorithm
	if _, err := asn1.Unmarshal(second.FullBytes, &with); err != nil {
		return false
	}
	if version[0] == 3 {
		return strings.HasPrefix(with.ID.String(), pkcs7)
	}
	_, err = asn1.Unmarshal(rest, &third)
	return err == nil && version[0] <= 1 && third.Tag == asn1.TagOctetString
}

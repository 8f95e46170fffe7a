package media_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"image"
	"image/color/palette"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"testing"
)

// samples are the first bytes of real files of every kind, by a name that says
// what they hold.
func samples(t testing.TB) map[string][]byte {
	t.Helper()
	s := map[string][]byte{
		"webp":   []byte("RIFF\x24\x00\x00\x00WEBPVP8 \x18\x00\x00\x00\x30\x01\x00\x9d\x01\x2a\x01\x00\x01\x00"),
		"heic":   ftyp("heic"),
		"avif":   ftyp("avif"),
		"bmp":    append([]byte("BM\x46\x00\x00\x00\x00\x00\x00\x00\x36\x00\x00\x00\x28\x00\x00\x00"), make([]byte, 52)...),
		"tiff":   []byte("II*\x00\x08\x00\x00\x00\x00\x00"),
		"mp4":    ftyp("isom"),
		"mov":    ftyp("qt  "),
		"m4a":    ftyp("M4A "),
		"3gp":    ftyp("3gp5"),
		"avi":    []byte("RIFF\x00\x10\x00\x00AVI LIST\x00\x00\x00\x00hdrlavih"),
		"mkv":    matroska("matroska"),
		"webm":   matroska("webm"),
		"mp3":    []byte("ID3\x04\x00\x00\x00\x00\x00\x0aTSSE\x00\x00\x00\x00\x00\x00"),
		"mp3raw": append([]byte{0xFF, 0xFB, 0x90, 0x64}, make([]byte, 413)...),
		"opus":   ogg("OpusHead\x01\x02\x38\x01\x80\xbb\x00\x00\x00\x00\x00"),
		"vorbis": ogg("\x01vorbis\x00\x00\x00\x00\x02\x44\xac\x00\x00\x00\x00\x00\x00\x00\x77\x01\x00\x00\x00\x00\x00\xb8\x01"),
		"theora": ogg("\x80theora\x03\x02\x01\x00\x14\x00\x0f\x00\x01\x40\x00\x00\xf0\x00\x00"),
		"aac":    {0xFF, 0xF1, 0x50, 0x80, 0x02, 0x1F, 0xFC, 0xDE},
		"wav":    []byte("RIFF\x24\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00"),
		"flac":   []byte("fLaC\x00\x00\x00\x22\x10\x00\x10\x00"),
		"pdf":    []byte("%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n<<>>\nendobj\n"),
		"ole":    append([]byte("\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1"), make([]byte, 600)...),
		"7z":     []byte("7z\xBC\xAF\x27\x1C\x00\x04\x00\x00\x00\x00"),
		"rar":    []byte("Rar!\x1A\x07\x01\x00\x00\x00"),
		"text":   []byte("a plain note,\nwith a comma and two lines of words\n"),
		"latin1": []byte("Stra\xdfe und Caf\xe9 in einer alten Datei\n"),
		"md":     []byte("# Title\n\nSome *text*.\n"),
		"csv":    []byte("name,age\nada,36\ngrace,45\n"),
		"json":   []byte(`{"a": [1, 2, 3], "b": "c"}`),
		"ics":    []byte("BEGIN:VCALENDAR\r\nVERSION:2.0\r\nEND:VCALENDAR\r\n"),
		"html":   []byte("<!DOCTYPE html><html><script>alert(1)</script></html>"),
		"svg":    []byte(`<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>`),
		"svgxml": []byte(`<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"/>`),
		"xml":    []byte(`<?xml version="1.0"?><x:script xmlns:x="http://www.w3.org/1999/xhtml">alert(1)</x:script>`),
		"sh":     []byte("#!/bin/sh\nrm -rf /\n"),
		"odd#!":  []byte("#!/opt/strange/interpreter\nrun\n"),
		"py":     []byte("#!/usr/bin/env python3\nprint(1)\n"),
		"bat":    []byte("@echo off\r\ndel *.*\r\n"),
		"elf":    append([]byte("\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x3e\x00\x01\x00\x00\x00"), make([]byte, 64)...),
		"pe":     append([]byte("MZ\x90\x00\x03\x00\x00\x00"), make([]byte, 120)...),
		"macho":  append([]byte("\xCF\xFA\xED\xFE\x07\x00\x00\x01\x03\x00\x00\x00\x02\x00\x00\x00"), make([]byte, 32)...),
		"noise":  {0x9c, 0x02, 0x81, 0x17, 0xee, 0x00, 0x01, 0x5b, 0x00, 0x99, 0x42, 0x00, 0xfe, 0x7a},
		"zip":    zipped(t, "notes/readme.txt", "hello"),
		"docx":   zipped(t, "[Content_Types].xml", "<Types/>", "_rels/.rels", "<R/>", "word/document.xml", "<w/>"),
		"xlsx":   zipped(t, "[Content_Types].xml", "<Types/>", "_rels/.rels", "<R/>", "xl/workbook.xml", "<w/>"),
		"pptx":   zipped(t, "[Content_Types].xml", "<Types/>", "_rels/.rels", "<R/>", "ppt/presentation.xml", "<p/>"),
		"odt":    zipped(t, "mimetype", "application/vnd.oasis.opendocument.text", "content.xml", "<x/>"),
		"epub":   zipped(t, "mimetype", "application/epub+zip", "META-INF/container.xml", "<c/>"),
		"jar":    zipped(t, "META-INF/MANIFEST.MF", "Manifest-Version: 1.0\n", "A.class", "x"),
	}
	picture := image.NewPaletted(image.Rect(0, 0, 2, 2), palette.WebSafe)
	s["png"] = encoded(t, func(w io.Writer) error { return png.Encode(w, picture) })
	s["jpeg"] = encoded(t, func(w io.Writer) error { return jpeg.Encode(w, picture, nil) })
	s["gif"] = encoded(t, func(w io.Writer) error { return gif.Encode(w, picture, nil) })
	s["gz"] = encoded(t, func(w io.Writer) error { return gzip.NewWriter(w).Close() })
	s["tar"] = encoded(t, func(w io.Writer) error {
		a := tar.NewWriter(w)
		if err := a.WriteHeader(&tar.Header{Name: "a.txt", Mode: 0o644}); err != nil {
			return err
		}
		return a.Close()
	})
	return s
}

func encoded(t testing.TB, write func(io.Writer) error) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// zipped packs names and contents, given in turn, without compression.
func zipped(t testing.TB, entries ...string) []byte {
	t.Helper()
	return encoded(t, func(w io.Writer) error {
		z := zip.NewWriter(w)
		for i := 0; i < len(entries); i += 2 {
			f, err := z.CreateHeader(&zip.FileHeader{Name: entries[i], Method: zip.Store})
			if err != nil {
				return err
			}
			if _, err := io.WriteString(f, entries[i+1]); err != nil {
				return err
			}
		}
		return z.Close()
	})
}

// ftyp is the first box of an MP4 or QuickTime file.
func ftyp(brand string) []byte {
	return []byte("\x00\x00\x00\x18ftyp" + brand + "\x00\x00\x02\x00" + brand + "mp42\x00\x00\x00\x08free")
}

// matroska is an EBML header with its document type.
func matroska(doctype string) []byte {
	head := []byte("\x1A\x45\xDF\xA3\x01\x00\x00\x00\x00\x00\x00\x23\x42\x86\x81\x01\x42\x82")
	return append(append(head, 0x80+byte(len(doctype))), doctype...)
}

// ogg is a first page with one packet.
func ogg(packet string) []byte {
	head := append([]byte("OggS\x00\x02"), make([]byte, 20)...)
	return append(append(head, 1, byte(len(packet))), packet...)
}

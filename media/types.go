package media

import (
	"mime"
	"slices"
	"strings"
)

const (
	unknownType = "application/octet-stream"
	plainText   = "text/plain"
)

// fileType is one row of the extension table.
type fileType struct {
	ext    string // lower case, no dot
	mime   string
	within string // content in which this type cannot be told from others; empty: the content always shows the type
	active bool   // a program, or a page that can contain one: such a name is never shown as a picture
}

// The kinds of content that many types share.
const (
	inText = plainText
	inZip  = "application/zip"
	inOLE  = "application/x-ole-storage"
	inMP4  = "video/mp4"
	inMKV  = "video/x-matroska"
	inWebM = "video/webm"
	inOgg  = "application/ogg"
	inASF  = "video/x-ms-asf"
	inAny  = unknownType // no signature at all
)

// fileTypes is the table of extensions, read-only. mime.TypeByExtension is not used
// because it depends on files of the machine. The first row of a MIME type gives the
// extension that [ExtensionFor] returns.
var fileTypes = []fileType{
	// shown in the chat
	{ext: "jpg", mime: "image/jpeg"}, {ext: "jpeg", mime: "image/jpeg"}, {ext: "jpe", mime: "image/jpeg"},
	{ext: "jfif", mime: "image/jpeg"}, {ext: "png", mime: "image/png"}, {ext: "gif", mime: "image/gif"},
	{ext: "webp", mime: "image/webp"},
	{ext: "mp4", mime: "video/mp4"}, {ext: "m4v", mime: "video/mp4"}, {ext: "mov", mime: "video/quicktime"},
	{ext: "avi", mime: "video/x-msvideo"}, {ext: "mkv", mime: "video/x-matroska"}, {ext: "webm", mime: "video/webm"},
	{ext: "3gp", mime: "video/3gpp"}, {ext: "3g2", mime: "video/3gpp2"}, {ext: "mpg", mime: "video/mpeg"},
	{ext: "mpeg", mime: "video/mpeg"}, {ext: "m2ts", mime: "video/mp2t"}, {ext: "ogv", mime: "video/ogg", within: inOgg},
	{ext: "wmv", mime: "video/x-ms-wmv", within: inASF}, {ext: "flv", mime: "video/x-flv"},
	{ext: "mp3", mime: "audio/mpeg"}, {ext: "ogg", mime: "audio/ogg", within: inOgg}, {ext: "oga", mime: "audio/ogg", within: inOgg},
	{ext: "opus", mime: "audio/ogg", within: inOgg}, {ext: "aac", mime: "audio/aac"},
	{ext: "m4a", mime: "audio/mp4", within: inMP4}, {ext: "m4b", mime: "audio/mp4", within: inMP4},
	{ext: "wav", mime: "audio/wav"}, {ext: "flac", mime: "audio/flac"}, {ext: "amr", mime: "audio/amr"},
	{ext: "aif", mime: "audio/aiff"}, {ext: "aiff", mime: "audio/aiff"}, {ext: "wma", mime: "audio/x-ms-wma", within: inASF},
	{ext: "weba", mime: "audio/webm", within: inWebM}, {ext: "mka", mime: "audio/x-matroska", within: inMKV},

	// pictures and sounds that chats do not show
	{ext: "heic", mime: "image/heic"}, {ext: "heif", mime: "image/heif"}, {ext: "avif", mime: "image/avif"},
	{ext: "bmp", mime: "image/bmp"}, {ext: "tif", mime: "image/tiff"}, {ext: "tiff", mime: "image/tiff"},
	{ext: "ico", mime: "image/x-icon"}, {ext: "jxl", mime: "image/jxl"}, {ext: "psd", mime: "image/vnd.adobe.photoshop"},
	{ext: "mid", mime: "audio/midi"}, {ext: "midi", mime: "audio/midi"},

	// papers
	{ext: "pdf", mime: "application/pdf"}, {ext: "ps", mime: "application/postscript"}, {ext: "rtf", mime: "application/rtf"},
	{ext: "doc", mime: "application/msword", within: inOLE}, {ext: "xls", mime: "application/vnd.ms-excel", within: inOLE},
	{ext: "ppt", mime: "application/vnd.ms-powerpoint", within: inOLE}, {ext: "msg", mime: "application/vnd.ms-outlook", within: inOLE},
	{ext: "docx", mime: "application/vnd.openxmlformats-officedocument.wordprocessingml.document", within: inZip},
	{ext: "xlsx", mime: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", within: inZip},
	{ext: "pptx", mime: "application/vnd.openxmlformats-officedocument.presentationml.presentation", within: inZip},
	{ext: "odt", mime: "application/vnd.oasis.opendocument.text", within: inZip},
	{ext: "ods", mime: "application/vnd.oasis.opendocument.spreadsheet", within: inZip},
	{ext: "odp", mime: "application/vnd.oasis.opendocument.presentation", within: inZip},
	{ext: "odg", mime: "application/vnd.oasis.opendocument.graphics", within: inZip},
	{ext: "epub", mime: "application/epub+zip", within: inZip}, {ext: "mobi", mime: "application/x-mobipocket-ebook"},
	{ext: "djvu", mime: "image/vnd.djvu"}, {ext: "ipynb", mime: "application/x-ipynb+json", within: inText},

	// text and data
	{ext: "txt", mime: plainText, within: inText}, {ext: "text", mime: plainText, within: inText}, {ext: "log", mime: plainText, within: inText},
	{ext: "md", mime: "text/markdown", within: inText}, {ext: "markdown", mime: "text/markdown", within: inText},
	{ext: "csv", mime: "text/csv", within: inText}, {ext: "tsv", mime: "text/tab-separated-values", within: inText},
	{ext: "json", mime: "application/json", within: inText}, {ext: "jsonl", mime: "application/x-ndjson", within: inText},
	{ext: "ndjson", mime: "application/x-ndjson", within: inText}, {ext: "geojson", mime: "application/geo+json", within: inText},
	{ext: "yaml", mime: "application/yaml", within: inText}, {ext: "yml", mime: "application/yaml", within: inText},
	{ext: "toml", mime: "application/toml", within: inText}, {ext: "ini", mime: plainText, within: inText},
	{ext: "xml", mime: "text/xml", within: inText}, {ext: "ics", mime: "text/calendar", within: inText},
	{ext: "vcf", mime: "text/vcard", within: inText}, {ext: "srt", mime: "application/x-subrip", within: inText},
	{ext: "vtt", mime: "text/vtt", within: inText}, {ext: "eml", mime: "message/rfc822", within: inText},
	{ext: "tex", mime: "application/x-tex", within: inText}, {ext: "css", mime: "text/css", within: inText},
	{ext: "gpx", mime: "application/gpx+xml", within: inText}, {ext: "kml", mime: "application/vnd.google-earth.kml+xml", within: inText},
	{ext: "diff", mime: "text/x-diff", within: inText}, {ext: "patch", mime: "text/x-diff", within: inText},
	{ext: "sql", mime: "application/sql", within: inText}, {ext: "go", mime: "text/x-go", within: inText},
	{ext: "c", mime: "text/x-c", within: inText}, {ext: "h", mime: "text/x-c", within: inText},
	{ext: "rs", mime: "text/x-rust", within: inText}, {ext: "java", mime: "text/x-java", within: inText},
	{ext: "sqlite", mime: "application/vnd.sqlite3"}, {ext: "parquet", mime: "application/vnd.apache.parquet"},
	{ext: "ttf", mime: "font/ttf"}, {ext: "otf", mime: "font/otf"}, {ext: "woff", mime: "font/woff"}, {ext: "woff2", mime: "font/woff2"},
	{ext: "bin", mime: unknownType, within: inAny}, {ext: "dat", mime: unknownType, within: inAny},
	{ext: "gpg", mime: "application/pgp-encrypted", within: inAny},

	// archives
	{ext: "zip", mime: inZip}, {ext: "tar", mime: "application/x-tar"}, {ext: "gz", mime: "application/gzip"},
	{ext: "tgz", mime: "application/gzip"}, {ext: "7z", mime: "application/x-7z-compressed"}, {ext: "bz2", mime: "application/x-bzip2"},
	{ext: "xz", mime: "application/x-xz"}, {ext: "zst", mime: "application/zstd"}, {ext: "rar", mime: "application/vnd.rar"},
	{ext: "kmz", mime: "application/vnd.google-earth.kmz", within: inZip},

	// pages that can hold programs
	{ext: "html", mime: "text/html", within: inText, active: true}, {ext: "htm", mime: "text/html", within: inText, active: true},
	{ext: "shtml", mime: "text/html", within: inText, active: true}, {ext: "xhtml", mime: "application/xhtml+xml", within: inText, active: true},
	{ext: "xht", mime: "application/xhtml+xml", within: inText, active: true}, {ext: "svg", mime: "image/svg+xml", within: inText, active: true},
	{ext: "svgz", mime: "application/gzip", active: true}, {ext: "mht", mime: "multipart/related", within: inText, active: true},
	{ext: "mhtml", mime: "multipart/related", within: inText, active: true}, {ext: "hta", mime: "application/hta", within: inText, active: true},
	{ext: "xsl", mime: "application/xslt+xml", within: inText, active: true}, {ext: "xslt", mime: "application/xslt+xml", within: inText, active: true},
	{ext: "swf", mime: "application/x-shockwave-flash", active: true}, {ext: "chm", mime: "application/vnd.ms-htmlhelp", active: true},

	// scripts
	{ext: "js", mime: "text/javascript", within: inText, active: true}, {ext: "mjs", mime: "text/javascript", within: inText, active: true},
	{ext: "cjs", mime: "text/javascript", within: inText, active: true}, {ext: "jse", mime: "text/javascript", within: inAny, active: true},
	{ext: "ts", mime: "text/x-typescript", within: inText, active: true}, {ext: "sh", mime: "text/x-shellscript", within: inText, active: true},
	{ext: "bash", mime: "text/x-shellscript", within: inText, active: true}, {ext: "zsh", mime: "text/x-shellscript", within: inText, active: true},
	{ext: "command", mime: "text/x-shellscript", within: inText, active: true}, {ext: "py", mime: "text/x-python", within: inText, active: true},
	{ext: "pyw", mime: "text/x-python", within: inText, active: true}, {ext: "rb", mime: "text/x-ruby", within: inText, active: true},
	{ext: "pl", mime: "text/x-perl", within: inText, active: true}, {ext: "php", mime: "text/x-php", within: inText, active: true},
	{ext: "lua", mime: "text/x-lua", within: inText, active: true}, {ext: "tcl", mime: "text/x-tcl", within: inText, active: true},
	{ext: "bat", mime: "application/x-bat", within: inText, active: true}, {ext: "cmd", mime: "application/x-bat", within: inText, active: true},
	{ext: "ps1", mime: "text/x-powershell", within: inText, active: true}, {ext: "psm1", mime: "text/x-powershell", within: inText, active: true},
	{ext: "vbs", mime: "text/x-vbscript", within: inText, active: true}, {ext: "vbe", mime: "text/x-vbscript", within: inAny, active: true},
	{ext: "wsf", mime: "text/x-wsf", within: inText, active: true}, {ext: "wsh", mime: plainText, within: inText, active: true},
	{ext: "reg", mime: plainText, within: inText, active: true}, {ext: "inf", mime: plainText, within: inText, active: true},
	{ext: "url", mime: "application/x-mswinurl", within: inText, active: true}, {ext: "desktop", mime: "application/x-desktop", within: inText, active: true},
	{ext: "applescript", mime: plainText, within: inText, active: true}, {ext: "scpt", mime: unknownType, within: inAny, active: true},
	{ext: "lnk", mime: "application/x-ms-shortcut", active: true},

	// programs and what installs them
	{ext: "exe", mime: "application/vnd.microsoft.portable-executable", active: true},
	{ext: "dll", mime: "application/vnd.microsoft.portable-executable", active: true},
	{ext: "scr", mime: "application/vnd.microsoft.portable-executable", active: true},
	{ext: "cpl", mime: "application/vnd.microsoft.portable-executable", active: true},
	{ext: "sys", mime: "application/vnd.microsoft.portable-executable", active: true},
	{ext: "com", mime: unknownType, within: inAny, active: true}, {ext: "pif", mime: unknownType, within: inAny, active: true},
	{ext: "msi", mime: "application/x-ms-installer", within: inOLE, active: true}, {ext: "msix", mime: inZip, active: true},
	{ext: "elf", mime: "application/x-executable", active: true}, {ext: "so", mime: "application/x-sharedlib", active: true},
	{ext: "dylib", mime: "application/x-mach-binary", active: true}, {ext: "appimage", mime: "application/x-executable", active: true},
	{ext: "jar", mime: "application/java-archive", within: inZip, active: true}, {ext: "class", mime: "application/x-java-applet", active: true},
	{ext: "apk", mime: "application/vnd.android.package-archive", within: inZip, active: true}, {ext: "ipa", mime: inZip, active: true},
	{ext: "deb", mime: "application/vnd.debian.binary-package", active: true}, {ext: "rpm", mime: "application/x-rpm", active: true},
	{ext: "dmg", mime: "application/x-apple-diskimage", within: inAny, active: true}, {ext: "pkg", mime: "application/x-xar", active: true},
	{ext: "wasm", mime: "application/wasm", active: true},
	{ext: "docm", mime: "application/vnd.ms-word.document.macroenabled.12", within: inZip, active: true},
	{ext: "xlsm", mime: "application/vnd.ms-excel.sheet.macroenabled.12", within: inZip, active: true},
	{ext: "pptm", mime: "application/vnd.ms-powerpoint.presentation.macroenabled.12", within: inZip, active: true},
}

func byExt(ext string) (fileType, bool) {
	i := slices.IndexFunc(fileTypes, func(t fileType) bool { return t.ext == ext })
	if ext == "" || i < 0 {
		return fileType{}, false
	}
	return fileTypes[i], true
}

func byMIME(mimeType string) (fileType, bool) {
	i := slices.IndexFunc(fileTypes, func(t fileType) bool { return t.mime == mimeType })
	if i < 0 {
		return fileType{}, false
	}
	return fileTypes[i], true
}

// MIMEByName returns the MIME type of a name's extension, or
// application/octet-stream. It is a guess for messages; only [Classify] determines
// the type.
func MIMEByName(name string) string {
	if t, ok := byExt(extension(SafeName(name))); ok {
		return t.mime
	}
	return unknownType
}

// KindByName returns the kind of a file with that name if the content agrees. Like
// [MIMEByName] it is a guess.
func KindByName(name string) Kind {
	t, ok := byExt(extension(SafeName(name)))
	if !ok || t.active {
		return Document
	}
	return kindOf(t.mime)
}

// ExtensionFor returns the usual extension of a MIME type, with its dot, for files
// without a name; empty if none is known.
func ExtensionFor(mimeType string) string {
	mimeType = canonical(mimeType)
	if t, ok := byMIME(mimeType); ok && mimeType != unknownType {
		return "." + t.ext
	}
	return ""
}

// canonical returns one spelling of a MIME type: lower case, no parameters, the name
// in the table. It is empty if the text is not a MIME type.
func canonical(mimeType string) string {
	t, _, err := mime.ParseMediaType(mimeType)
	if err != nil || strings.Count(t, "/") != 1 {
		return ""
	}
	switch t {
	case "image/jpg", "image/pjpeg":
		return "image/jpeg"
	case "image/apng":
		return "image/png"
	case "video/x-m4v":
		return "video/mp4"
	case "video/matroska":
		return "video/x-matroska"
	case "audio/x-m4a", "audio/m4a", "audio/x-mp4a":
		return "audio/mp4"
	case "audio/mp3", "audio/x-mpeg":
		return "audio/mpeg"
	case "audio/x-wav", "audio/wave", "audio/vnd.wave":
		return "audio/wav"
	case "audio/opus", "audio/x-ogg":
		return "audio/ogg"
	case "audio/x-flac":
		return "audio/flac"
	case "text/rtf":
		return "application/rtf"
	case "application/xml":
		return "text/xml"
	case "application/javascript", "application/x-javascript":
		return "text/javascript"
	case "application/x-zip-compressed", "application/x-zip":
		return inZip
	case "application/x-gzip":
		return "application/gzip"
	case "text/x-yaml", "text/yaml", "application/x-yaml":
		return "application/yaml"
	case "text/x-markdown":
		return "text/markdown"
	}
	return t
}

// kindOf returns the form in which chats show a type. Everything that platforms do
// not show in place is a document; so is SVG, which is a page.
func kindOf(mimeType string) Kind {
	switch mimeType {
	case "image/jpeg", "image/png", "image/gif", "image/webp":
		return Image
	case "video/mp4", "video/quicktime", "video/x-msvideo", "video/x-matroska", "video/webm", "video/3gpp",
		"video/3gpp2", "video/mpeg", "video/mp2t", "video/ogg", "video/x-ms-wmv", "video/x-ms-asf", "video/x-flv":
		return Video
	case "audio/mpeg", "audio/ogg", "audio/aac", "audio/mp4", "audio/wav", "audio/flac", "audio/amr", "audio/aiff",
		"audio/x-ms-wma", "audio/webm", "audio/x-matroska":
		return Audio
	}
	return Document
}

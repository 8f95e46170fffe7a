package markup

// plain is a text without formatting, for a platform that has none.
var plain = dialect{width: 72}

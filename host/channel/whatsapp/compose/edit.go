package compose

import "go.mau.fi/whatsmeow/proto/waE2E"

// SetText replaces the text or the caption of a message. It returns false if the kind of message has neither.
func SetText(m *waE2E.Message, text string) bool {
	switch {
	case m.Conversation != nil:
		m.Conversation = &text
	case m.ExtendedTextMessage != nil:
		m.ExtendedTextMessage.Text = &text
	case m.ImageMessage != nil:
		m.ImageMessage.Caption = &text
	case m.VideoMessage != nil:
		m.VideoMessage.Caption = &text
	case m.DocumentWithCaptionMessage.GetMessage().GetDocumentMessage() != nil:
		m.DocumentWithCaptionMessage.Message.DocumentMessage.Caption = &text
	default:
		return false
	}
	return true
}

package whatsapp

import (
	"slices"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// told are the fields of WhatsApp's schema that are a member's message and are only told in
// words: what they are.
var told = map[protoreflect.Name]string{
	"buttonsMessage":                    "a message with buttons",
	"cancelPaymentRequestMessage":       "a request for money, withdrawn",
	"chat":                              "a chat",
	"declinePaymentRequestMessage":      "a refusal to pay",
	"encCommentMessage":                 "a comment that this device cannot read",
	"groupInviteMessage":                "an invitation to a group",
	"highlyStructuredMessage":           "a message of a business",
	"interactiveMessage":                "a message with buttons",
	"invoiceMessage":                    "an invoice",
	"listMessage":                       "a message with a list to choose from",
	"newsletterAdminInviteMessage":      "an invitation to manage a channel",
	"newsletterFollowerInviteMessageV2": "an invitation to a channel",
	"orderMessage":                      "an order",
	"paymentInviteMessage":              "an invitation to pay by WhatsApp",
	"placeholderMessage":                "a message that only the phone shows",
	"productMessage":                    "a product",
	"questionResponseMessage":           "an answer to a question",
	"requestPaymentMessage":             "a request for money",
	"requestPhoneNumberMessage":         "a request for the phone number",
	"richResponseMessage":               "an answer of Meta AI",
	"sendPaymentMessage":                "a payment",
	"statusQuestionAnswerMessage":       "an answer to a question in a status",
	"statusQuotedMessage":               "an answer to a status",
	"stickerPackMessage":                "a pack of stickers",
	"templateMessage":                   "a message with buttons",
}

// notes are those that nobody has to answer.
var notes = map[protoreflect.Name]string{
	"bcallMessage":                    "a call to many",
	"call":                            "a call",
	"encEventResponseMessage":         "an answer to an event",
	"encReactionMessage":              "a reaction that this device cannot read",
	"messageHistoryBundle":            "earlier messages, for a new member",
	"messageHistoryNotice":            "earlier messages, for a new member",
	"scheduledCallCreationMessage":    "a plan for a call",
	"scheduledCallEditMessage":        "a planned call, cancelled",
	"secretEncryptedMessage":          "a change of a message that this device cannot read",
	"statusNotificationMessage":       "a notice about a status",
	"statusStickerInteractionMessage": "a reaction to a status",
}

// ignored are those of which the host hears nothing, and why.
var ignored = map[protoreflect.Name]string{
	"albumMessage":          "its pictures and films come as messages of their own",
	"stickerSyncRmrMessage": "between an account's own devices",
}

// Bounds of a message that is told in words.
const (
	maxCollected = 1000 // parts of it
	maxWords     = 50
)

// collector gathers what people read in a message of any kind, and its first file.
type collector struct {
	d     *said
	words []string
	left  int // parts that may still be looked at
}

func (c *collector) collect(m protoreflect.Message) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if !m.Has(f) || f.IsMap() || f.Name() == "contextInfo" {
			continue
		}
		if !f.IsList() {
			c.value(f, m.Get(f))
			continue
		}
		for j := range m.Get(f).List().Len() {
			c.value(f, m.Get(f).List().Get(j))
		}
	}
}

func (c *collector) value(f protoreflect.FieldDescriptor, v protoreflect.Value) {
	if c.left--; c.left < 0 || len(c.words) >= maxWords {
		return
	}
	if f.Message() != nil {
		part := v.Message().Interface()
		if file, _ := downloadable(part, c.d.at); file == nil {
			c.collect(v.Message())
		} else if c.d.file == nil {
			c.d.attach(part)
		}
		return
	}
	if f.Kind() == protoreflect.StringKind && shown(f.Name()) && v.String() != "" && !slices.Contains(c.words, v.String()) {
		c.words = append(c.words, v.String())
	}
}

// shown reports whether people see a field of that name in any of WhatsApp's messages.
func shown(field protoreflect.Name) bool {
	switch field {
	case "URL", "address", "body", "buttonParamsJSON", "buttonText", "caption", "contentText", "conversation", "description", "displayName", "displayText",
		"footer", "footerText", "groupName", "hydratedContentText", "hydratedFooterText", "hydratedTitleText", "joinLink", "message", "messageText", "name",
		"newsletterName", "note", "orderTitle", "packDescription", "phoneNumber", "subtitle", "text", "title":
		return true
	}
	return false
}

package decode

import (
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protopath"
	"google.golang.org/protobuf/reflect/protorange"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// described are the fields of WhatsApp's schema that are messages of members and reach the
// host as a description, with that description.
var described = map[protoreflect.Name]string{
	"buttonsMessage": "a message with buttons", "interactiveMessage": "a message with buttons", "templateMessage": "a message with buttons",
	"listMessage": "a message with a list to choose from", "highlyStructuredMessage": "a message of a business",
	"requestPaymentMessage": "a request for money", "cancelPaymentRequestMessage": "a request for money, withdrawn", "declinePaymentRequestMessage": "a refusal to pay",
	"sendPaymentMessage": "a payment", "paymentInviteMessage": "an invitation to pay by WhatsApp", "invoiceMessage": "an invoice", "orderMessage": "an order", "productMessage": "a product",
	"groupInviteMessage": "an invitation to a group", "newsletterAdminInviteMessage": "an invitation to manage a channel", "newsletterFollowerInviteMessageV2": "an invitation to a channel",
	"questionResponseMessage": "an answer to a question", "statusQuestionAnswerMessage": "an answer to a question in a status", "statusQuotedMessage": "an answer to a status",
	"encCommentMessage": "a comment that this device cannot read", "placeholderMessage": "a message that only the phone shows", "requestPhoneNumberMessage": "a request for the phone number",
	"richResponseMessage": "an answer of Meta AI", "stickerPackMessage": "a pack of stickers", "chat": "a chat",
}

// notes are the fields that nobody has to answer, with what the member did.
var notes = map[protoreflect.Name]string{
	"call": "called", "bcallMessage": "called many", "scheduledCallCreationMessage": "planned a call", "scheduledCallEditMessage": "cancelled a planned call",
	"messageHistoryBundle": "showed a new member earlier messages", "messageHistoryNotice": "showed a new member earlier messages",
	"statusNotificationMessage": "did something about a status", "statusStickerInteractionMessage": "reacted to a status",
}

// unreadable are notes whose content the device cannot decrypt.
var unreadable = map[protoreflect.Name]string{
	"encEventResponseMessage": "an answer to an event", "encReactionMessage": "a reaction that this device cannot read", "secretEncryptedMessage": "a change of a message that this device cannot read",
}

// ignored are the fields that do not reach the host, and why.
var ignored = map[protoreflect.Name]string{
	"albumMessage":          "its pictures and films come as messages of their own",
	"stickerSyncRmrMessage": "between an account's own devices",
}

// maxCollected bounds how many parts of a message collect reads.
const maxCollected = 1000

// collect adds what people read in a message of any kind, and its first file.
func (d *Content) collect(m proto.Message) {
	left, inside := maxCollected, 0 // how long the path is of what is passed over
	_ = protorange.Options{Stable: true}.Range(m.ProtoReflect(), func(p protopath.Values) error {
		if left--; left < 0 || len(d.Text) > MaxText {
			return protorange.Terminate
		}
		if inside > 0 && len(p.Path) > inside {
			return nil
		}
		inside = 0
		switch last := p.Index(-1); v := last.Value.Interface().(type) {
		case protoreflect.Message:
			file, _ := downloadable(v.Interface(), d.at)
			if file != nil && d.File == nil {
				d.attach(v.Interface())
			}
			if file != nil || v.Descriptor().Name() == "ContextInfo" {
				inside = len(p.Path)
			}
		case string:
			if last.Step.Kind() == protopath.FieldAccessStep && shown(last.Step.FieldDescriptor().Name()) && !strings.Contains(d.Text+"\n", "\n"+v+"\n") {
				d.line(v)
			}
		}
		return nil
	}, nil)
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

package discord

import "github.com/longshore-bridge/longshore/host/channel"

// The types of messages that members write, and of a reference to another message.
const (
	typeDefault   = 0
	typeReply     = 19
	refersForward = 1
)

// systemType is a type of message that Discord writes in a member's name.
type systemType struct {
	name    string // Discord's
	note    string // what the member did
	ignored string // why the message does not come in; empty: it does
}

// systemTypes are all of discord.com/developers/docs/resources/message, Message Types.
var systemTypes = map[int]systemType{
	1:  {name: "RecipientAdd", note: "added to the thread"},
	2:  {name: "RecipientRemove", note: "removed from the thread"},
	3:  {name: "Call", note: "called"},
	4:  {name: "ChannelNameChange", note: "renamed the chat"},
	5:  {name: "ChannelIconChange", note: "changed the picture of the chat"},
	6:  {name: "ChannelPinnedMessage", note: channel.Pinned},
	7:  {name: "UserJoin", note: "joined the server", ignored: "GUILD_MEMBER_ADD says so in every chat"},
	8:  {name: "GuildBoost", note: "boosted the server"},
	9:  {name: "GuildBoostTier1", note: "boosted the server to level 1"},
	10: {name: "GuildBoostTier2", note: "boosted the server to level 2"},
	11: {name: "GuildBoostTier3", note: "boosted the server to level 3"},
	12: {name: "ChannelFollowAdd", note: "has this channel follow another one"},
	14: {name: "GuildDiscoveryDisqualified", ignored: "Discord speaks to the server's owner"},
	15: {name: "GuildDiscoveryRequalified", ignored: "Discord speaks to the server's owner"},
	16: {name: "GuildDiscoveryGracePeriodInitialWarning", ignored: "Discord speaks to the server's owner"},
	17: {name: "GuildDiscoveryGracePeriodFinalWarning", ignored: "Discord speaks to the server's owner"},
	18: {name: "ThreadCreated", note: "began a thread"},
	20: {name: "ChatInputCommand", ignored: "the answer of an app, which is a robot"},
	21: {name: "ThreadStarterMessage", note: "this thread began from the message"},
	22: {name: "GuildInviteReminder", ignored: "Discord speaks to the server's owner"},
	23: {name: "ContextMenuCommand", ignored: "the answer of an app, which is a robot"},
	24: {name: "AutoModerationAction", ignored: "an alert for moderators: its words were kept from a chat"},
	25: {name: "RoleSubscriptionPurchase", note: "subscribed to a role of the server"},
	26: {name: "InteractionPremiumUpsell", ignored: "an app advertises itself"},
	27: {name: "StageStart", note: "began a stage"},
	28: {name: "StageEnd", note: "ended a stage"},
	29: {name: "StageSpeaker", note: "speaks on the stage"},
	30: {name: "StageRaiseHand", note: "wants to speak on the stage"},
	31: {name: "StageTopic", note: "changed the topic of the stage"},
	32: {name: "GuildApplicationPremiumSubscription", note: "subscribed to an app for the server"},
	36: {name: "GuildIncidentAlertModeEnabled", note: "stopped invitations or direct messages of the server"},
	37: {name: "GuildIncidentAlertModeDisabled", note: "allowed invitations and direct messages of the server again"},
	38: {name: "GuildIncidentReportRaid", note: "reported a raid on the server"},
	39: {name: "GuildIncidentReportFalseAlarm", note: "reported that there was no raid"},
	44: {name: "PurchaseNotification", note: "bought something in the server"},
	46: {name: "PollResult", note: "a poll has ended"},
}

// ignoredFields are those of a message that hold nothing to show, and why. A field that is
// neither among them nor in message is named if a message shows nothing else.
var ignoredFields = map[string]string{
	"application":            "who made an activity, a robot or an app",
	"application_id":         "which app answers an interaction, and is not heard",
	"call":                   "the type of the message says that it is a call",
	"channel_type":           "the channel itself says it",
	"flags":                  "what it marks has fields of its own",
	"interaction":            "what an app answers, and is not heard",
	"interaction_metadata":   "what an app answers, and is not heard",
	"mention_channels":       "channels that the text names already",
	"mention_everyone":       "a mention of everybody does not speak to the assistant",
	"nonce":                  "the sender's own name for the message",
	"pinned":                 "a message of its own says who pins one",
	"position":               "a place in the thread, which the id shows too",
	"reactions":              "each one is an event",
	"resolved":               "members and channels that the text names already",
	"role_subscription_data": "the type of the message says that it is a purchase",
	"stickers":               "sticker_items has them",
	"thread":                 "the thread's messages name it",
	"timestamp":              "the id begins with it",
	"tts":                    "how a client reads the text out",
}

// maxBulk is how many messages one event deletes:
// discord.com/developers/docs/resources/message, Bulk Delete Messages.
const maxBulk = 100

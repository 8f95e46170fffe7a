package telegram

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/longshore-bridge/longshore/host/channel"
)

// notes are the fields of https://core.telegram.org/bots/api#message that a chat shows
// between its messages.
const notes = `boost_added channel_chat_created chat_background_set chat_owner_changed chat_owner_left checklist_tasks_added
	checklist_tasks_done community_chat_added community_chat_joined community_chat_removed connected_website delete_chat_photo
	direct_message_price_changed forum_topic_closed forum_topic_created forum_topic_edited forum_topic_reopened
	general_forum_topic_hidden general_forum_topic_unhidden gift_upgrade_sent giveaway_completed giveaway_created group_chat_created
	managed_bot_created message_auto_delete_timer_changed new_chat_photo new_chat_title paid_message_price_changed pinned_message
	poll_option_added poll_option_deleted proximity_alert_triggered refunded_payment successful_payment suggested_post_approval_failed
	suggested_post_approved suggested_post_declined suggested_post_paid suggested_post_refunded supergroup_chat_created video_chat_ended
	video_chat_participants_invited video_chat_scheduled video_chat_started write_access_allowed`

// ignored are the fields of a message that say nothing of what it holds, each with the reason.
var ignored = map[string]string{
	"business_connection_id":     "of updates that the channel does not ask for",
	"direct_messages_topic":      "names the member who writes to a channel, who is the sender, too",
	"effect_id":                  "an animation that plays when the message is opened",
	"ephemeral_message_id":       "names a message that the bot alone sees, and later others",
	"guest_bot_caller_chat":      "of a robot's message",
	"guest_bot_caller_user":      "of a robot's message",
	"guest_query_id":             "of updates that the channel does not ask for",
	"has_media_spoiler":          "how a picture looks before a member taps on it",
	"has_protected_content":      "what members may do with it in their apps",
	"is_from_offline":            "it was written earlier",
	"is_paid_post":               "how it was paid for",
	"link_preview_options":       "how an address that stands in the text is shown",
	"media_group_id":             "how pictures are arranged: each of them is a message",
	"paid_star_count":            "how it was paid for",
	"receiver_user":              "the bot, of a message that it alone sees",
	"reply_markup":               "the buttons of a robot, which act on that robot",
	"reply_to_checklist_task_id": "a part of what is answered, which is quoted whole",
	"reply_to_poll_option_id":    "a part of what is answered, which is quoted whole",
	"sender_boost_count":         "how often the sender has boosted the chat",
	"sender_business_bot":        "of updates that the channel does not ask for",
	"sender_tag":                 "a title of the sender beside the name",
	"show_caption_above_media":   "where the caption stands",
	"suggested_post_info":        "the price of a post that is suggested to a channel",
	"via_bot":                    "the robot by which the member found what they sent",
}

// tell sets the words for content other than texts and files: a note, or a message that the channel
// cannot show.
func (c *content) tell(h *holding) {
	for _, name := range slices.Sorted(maps.Keys(c.Rest)) {
		if ignored[name] != "" || !channel.ToldName(name) {
			continue
		}
		does := strings.ReplaceAll(name, "_", " ")
		if name == "pinned_message" {
			does = channel.Pinned
		}
		said := strings.TrimSuffix(does+": "+wordsOf(c.Rest[name]), ": ")
		if slices.Contains(strings.Fields(notes), name) {
			h.kind, h.text = channel.KindNote, said
		} else {
			h.told, h.text = name, strings.TrimSpace(channel.NotShown(said)+"\n"+h.text)
		}
		return
	}
}

// spoken are the keys of Telegram's objects that have words, in the order in which they are shown,
// each with the separator of a list.
var spoken = []struct{ key, between string }{
	{"label", ""}, {"title", ""}, {"name", ""}, {"first_name", ""}, {"last_name", ""}, {"phone_number", ""}, {"address", ""}, {"description", ""}, {"prize_description", ""},
	{"emoji", ""}, {"value", ""}, {"question", ""}, {"summary", ""}, {"text", ""}, {"caption", ""}, {"alternative_text", ""}, {"expression", ""}, {"option_text", ""},
	{"data", ""}, {"url", ""}, {"blocks", "\n"}, {"items", "\n"}, {"cells", "\n"}, {"buttons", " "}, {"button", ""}, {"tasks", ", "}, {"users", ", "},
	{"new_owner", ""}, {"community", ""}, {"credit", ""},
}

// wordsOf returns the words in an object of Telegram, such as a rich text.
func wordsOf(raw jsontext.Value) string {
	var v any
	if len(raw) == 0 || json.Unmarshal(raw, &v, lenient) != nil {
		return ""
	}
	return strings.TrimSpace(joined(v, ""))
}

// joined returns the words of a value. between separates those of a list.
func joined(v any, between string) string {
	var all []string
	switch v := v.(type) {
	case string:
		return v
	case float64:
		return fmt.Sprint(v)
	case []any:
		inner := ""
		if between == "\n" { // of the rows of a table
			inner = " | "
		}
		for _, one := range v {
			all = append(all, joined(one, inner))
		}
		return strings.Join(all, between)
	case map[string]any:
		rich := v["type"] != nil || v["label"] != nil
		for _, k := range spoken {
			if rich && slices.Contains([]string{"name", "value", "phone_number"}, k.key) { // which a rich text does not show
				continue
			}
			one := joined(v[k.key], k.between)
			if k.key == "url" && one != "" {
				one = entity{URL: one}.hidden(strings.Join(all, " "))
			}
			all = append(all, strings.TrimSpace(one))
		}
		return strings.Join(slices.DeleteFunc(all, func(s string) bool { return s == "" }), " ")
	}
	return ""
}

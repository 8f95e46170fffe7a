package telegram

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/go-telegram/bot/models"

	"github.com/longshore-bridge/longshore/host/channel"
)

// ignoredUpdates are the updates that the channel does not ask for, each with the reason.
var ignoredUpdates = map[string]string{
	"business_connection":        "a member's own chats with others are no chats of a group",
	"business_message":           "a member's own chats with others are no chats of a group",
	"callback_query":             "the bot sends no buttons",
	"channel_post":               "in a channel Telegram does not tell other robots from the admins; a post comes in by the group that belongs to the channel",
	"chat_boost":                 "comes in as a message, boost_added",
	"chat_join_request":          "of people who are not in the chat",
	"chat_member":                "who joins and leaves comes in as a message",
	"chosen_inline_result":       "the bot has no inline mode",
	"deleted_business_messages":  "a member's own chats with others are no chats of a group",
	"edited_business_message":    "a member's own chats with others are no chats of a group",
	"edited_channel_post":        "as channel_post",
	"guest_message":              "of a chat in which the bot is not",
	"inline_query":               "the bot has no inline mode",
	"managed_bot":                "the bot manages no others",
	"message_reaction_count":     "does not say who reacts",
	"poll":                       "how a poll stands: its votes come in one by one, as poll_answer",
	"pre_checkout_query":         "the bot sells nothing",
	"purchased_paid_media":       "the bot sells nothing",
	"removed_chat_boost":         "nothing is shown in the chat",
	"shipping_query":             "the bot sells nothing",
	"stopped_message_generation": "the bot sends no drafts",
	"subscription":               "the bot sells nothing",
}

// shown are the fields of a message that come in as words because nothing else can be had
// of them, each with an example and what has to be said of it.
var shown = map[string][2]string{
	"chat_shared":      {`{"request_id":1,"chat_id":-9,"title":"Crew"}`, "chat shared: Crew"},
	"checklist":        {`{"title":"Buy","tasks":[{"id":1,"text":"milk"}]}`, "checklist: Buy milk"},
	"dice":             {`{"emoji":"🎲","value":4}`, "dice: 🎲 4"},
	"game":             {`{"title":"Lumber","description":"chop","photo":[]}`, "game: Lumber chop"},
	"gift":             {`{"gift":{},"text":"for you"}`, "gift: for you"},
	"giveaway":         {`{"winner_count":1,"prize_description":"a boat"}`, "giveaway: a boat"},
	"giveaway_winners": {`{"winner_count":1,"prize_description":"a boat"}`, "giveaway winners: a boat"},
	"invoice":          {`{"title":"Rope","description":"9 m","currency":"EUR","total_amount":5}`, "invoice: Rope 9 m"},
	"paid_media":       {`{"star_count":1,"paid_media":[{"type":"preview"}]}`, "paid media"},
	"passport_data":    {`{"data":[]}`, "passport data"},
	"story":            {`{"chat":{"id":-9},"id":1}`, "story"},
	"unique_gift":      {`{"origin":"upgrade"}`, "unique gift"},
	"users_shared":     {`{"users":[{"user_id":1,"first_name":"Bo"}]}`, "users shared: Bo"},
	"web_app_data":     {`{"data":"x=1","button_text":"Go"}`, "web app data: x=1"},
}

// beside are the fields of content that other fields hold, or that are another's.
var beside = map[string]string{
	"venue":   "Location.Name",
	"contact": "Text",
}

// misspelt are fields whose names the library has from an earlier version, or wrong.
var misspelt = map[string]string{
	"reply_to_store": "reply_to_story", "voice_chat_scheduled": "video_chat_scheduled", "voice_chat_started": "video_chat_started",
	"voice_chat_ended": "video_chat_ended", "voice_chat_participants_invited": "video_chat_participants_invited",
}

// fieldsOf are the names that a struct has in JSON.
func fieldsOf(t reflect.Type) (all []string) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous:
			all = append(all, fieldsOf(f.Type)...)
		case name != "":
			all = append(all, name)
		}
	}
	return all
}

// missing are fields of a message of which nobody has decided what comes of them.
func missing(fields []string) (all []string) {
	decided := slices.Concat(fieldsOf(reflect.TypeFor[message]()), strings.Fields(notes), slices.Collect(maps.Keys(ignored)), slices.Collect(maps.Keys(shown)), slices.Collect(maps.Keys(beside)))
	return slices.DeleteFunc(fields, func(name string) bool { return slices.Contains(decided, name) })
}

// TestEachFieldOfAMessageIsDecided: whatever the Bot API's types know is read, told in words,
// or ignored for a reason.
func TestEachFieldOfAMessageIsDecided(t *testing.T) {
	var fields []string
	for _, name := range fieldsOf(reflect.TypeFor[models.Message]()) {
		if right := misspelt[name]; right != "" {
			name = right
		}
		fields = append(fields, name)
	}
	if all := missing(fields); len(fields) < 90 || len(all) > 0 {
		t.Errorf("of %d fields, nothing is known of %q", len(fields), all)
	}
	for _, name := range fieldsOf(reflect.TypeFor[models.Update]()) {
		if name != "update_id" && !slices.Contains(heard, name) && ignoredUpdates[name] == "" {
			t.Errorf("nobody has decided about the update %s", name)
		}
	}
	for name, why := range ignored {
		if why == "" {
			t.Errorf("%s is ignored without a reason", name)
		}
	}
}

// TestEachFieldThatIsToldSaysWhatItWas sends each of them alone.
func TestEachFieldThatIsToldSaysWhatItWas(t *testing.T) {
	for name, tt := range shown {
		if got := oneOf(hear(t, fmt.Sprintf(`%q:%s`, name, tt[0]))); got.Kind != channel.KindMessage || got.Told != name || got.Text != channel.NotShown(tt[1]) {
			t.Errorf("%s came in as %+v", name, got)
		}
	}
	for _, name := range strings.Fields(notes) {
		if got := oneOf(hear(t, fmt.Sprintf(`%q:{}`, name))); got.Kind != channel.KindNote || got.Told != "" || got.Text == "" || got.Direct {
			t.Errorf("%s came in as %+v", name, got)
		}
	}
}

// TestEachFieldThatIsReadComesInAlone makes a message of each field of the library's that
// the channel reads, and holds nothing else.
func TestEachFieldThatIsReadComesInAlone(t *testing.T) {
	f := models.Message{
		Text: "a", Caption: "a", Animation: &models.Animation{FileID: "f"}, Audio: &models.Audio{FileID: "f"}, Document: &models.Document{FileID: "f"},
		Photo: []models.PhotoSize{{FileID: "f"}}, Sticker: &models.Sticker{FileID: "f"}, Video: &models.Video{FileID: "f"}, VideoNote: &models.VideoNote{FileID: "f"},
		Voice: &models.Voice{FileID: "f"}, Contact: &models.Contact{PhoneNumber: "+49", FirstName: "Bo"}, Poll: &models.Poll{ID: "p", Question: "q?", Options: []models.PollOption{{Text: "o"}}},
		Venue: &models.Venue{Title: "Pier"}, Location: &models.Location{Latitude: 1}, NewChatMembers: []models.User{{ID: 5}}, LeftChatMember: &models.User{ID: 5},
	}
	v, n := reflect.ValueOf(f), 0
	for i := range v.NumField() {
		if v.Field(i).IsZero() || v.Type().Field(i).Name == "Chat" || v.Type().Field(i).Name == "Venue" { // which stands beside a location
			continue
		}
		n++
		name := fieldsOf(v.Type())[i]
		raw, err := json.Marshal(v.Field(i).Interface())
		if err != nil {
			t.Fatal(err)
		}
		in := hear(t, fmt.Sprintf(`%q:%s`, name, raw))
		if in == nil || in.Told != "" || in.Text == "" && len(in.Files)+len(in.Joined)+len(in.Left) == 0 {
			t.Errorf("%s came in as %+v", name, in)
		}
	}
	if n != 15 {
		t.Errorf("%d fields were sent", n)
	}
}

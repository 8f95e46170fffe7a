package telegram

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/media"
)

// hear is what comes of a message of Ada's in a group, with these fields.
func hear(t *testing.T, fields string) *channel.Inbound {
	t.Helper()
	if !strings.HasPrefix(fields, `"from"`) {
		fields += `,"from":{"id":77,"first_name":"Ada"}`
	}
	_, in, err := decode([]byte(`{"update_id":9,"message":{"message_id":6,"date":1,"chat":{"id":-1001,"type":"supergroup","title":"Desk"},`+fields+`}}`), &user{ID: 99, Name: "our_bot"})
	if err != nil {
		t.Fatalf("%v in %s", err, fields)
	}
	return in
}

// one is what is wanted of a message.
type one struct {
	Kind              channel.Kind
	From, Text, Told  string
	Forwarded, Direct bool
	Author            string
	Files             []string // their kinds and names
	Quote             *channel.Quote
	Quoted            []string // the files of Quote
	Role              channel.Role
	Name              string // of a place
}

func oneOf(in *channel.Inbound) one {
	if in == nil {
		return one{}
	}
	o := one{Kind: in.Kind, From: in.From, Text: in.Text, Told: in.Told, Forwarded: in.Forwarded, Author: in.Author, Direct: in.Direct, Files: named(in.Files), Role: in.Role}
	if in.From == "Ada" {
		o.From = ""
	}
	if in.Location != nil {
		o.Name = in.Location.Name
	}
	if in.Quote != nil {
		q := *in.Quote
		o.Quoted, q.Files = named(q.Files), nil
		o.Quote = &q
	}
	return o
}

func named(files []channel.Attachment) (all []string) {
	for _, f := range files {
		all = append(all, string(f.Kind)+" "+f.Name)
	}
	return all
}

func wants(t *testing.T, tests map[string]one) {
	t.Helper()
	for fields, want := range tests {
		if diff := cmp.Diff(want, oneOf(hear(t, fields))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", fields, diff)
		}
	}
}

func TestAForwardDidNotSayWhoWroteIt(t *testing.T) {
	for origin, author := range map[string]string{
		`"type":"user","sender_user":{"id":78,"first_name":"Bo"}`:                              "Bo",
		`"type":"hidden_user","sender_user_name":"Cy"`:                                         "Cy",
		`"type":"chat","sender_chat":{"id":-5,"title":"Crew"},"author_signature":"Bo"`:         "Crew",
		`"type":"channel","chat":{"id":-6,"title":"News"},"message_id":3,"date":1`:             "News",
		`"type":"of a later version"`:                                                          "",
		`"type":"user","sender_user":{"id":78,"is_bot":true,"first_name":"A","last_name":"B"}`: "A B",
	} {
		wants(t, map[string]one{
			`"forward_origin":{` + origin + `},"text":"late"`:                                                   {Text: "late", Forwarded: true, Author: author},
			`"forward_origin":{` + origin + `},"document":{"file_id":"d","file_name":"a.pdf"},"caption":"late"`: {Text: "late", Forwarded: true, Author: author, Files: []string{"document a.pdf"}},
			`"text":"so?","reply_to_message":{"message_id":5,"from":{"id":78,"first_name":"Bo"},"text":"late","forward_origin":{` + origin + `}}`: {
				Text: "so?", Quote: &channel.Quote{ID: "5", From: "Bo", Sender: "78", Text: "late", Forwarded: true}},
		})
	}
}

func TestAQuoteHadNoFilesAndNoPart(t *testing.T) {
	bo := `"from":{"id":78,"first_name":"Bo"}`
	wants(t, map[string]one{
		`"text":"so?","reply_to_message":{"message_id":5,` + bo + `,"voice":{"file_id":"v"}}`: {
			Text: "so?", Quote: &channel.Quote{ID: "5", From: "Bo", Sender: "78"}, Quoted: []string{"voice voice.ogg"}},
		`"text":"so?","reply_to_message":{"message_id":5,` + bo + `,"text":"one two"},"quote":{"text":"two","position":4,"is_manual":true}`: {
			Text: "so?", Quote: &channel.Quote{ID: "5", From: "Bo", Sender: "78", Text: "one two", Selected: "two"}},
		`"text":"so?","reply_to_message":{"message_id":5,` + bo + `,"text":"one two"},"quote":{"text":"one two","position":0}`: {
			Text: "so?", Quote: &channel.Quote{ID: "5", From: "Bo", Sender: "78", Text: "one two"}},
		`"text":"so?","reply_to_message":{"message_id":5,"sender_chat":{"id":-7,"title":"News"},"text":"post"}`: {
			Text: "so?", Quote: &channel.Quote{ID: "5", From: "News", Sender: "-7", Text: "post"}},
		`"text":"so?","reply_to_message":{"message_id":5,` + bo + `,"poll":{"question":"When?","options":[{"text":"Mon"}]}}`: {
			Text: "so?", Quote: &channel.Quote{ID: "5", From: "Bo", Sender: "78", Text: "Poll: When?\n- Mon"}},
		`"text":"thanks","reply_to_message":{"message_id":5,"from":{"id":99,"is_bot":true,"first_name":"Us"},"text":"here"}`: {
			Text: "thanks", Direct: true, Quote: &channel.Quote{ID: "5", From: "Us", Sender: "99", Text: "here", Own: true}},
		// The first answer to a message begins a thread of that number, which is no topic.
		`"text":"so?","message_thread_id":5,"reply_to_message":{"message_id":5,` + bo + `,"text":"one"}`: {
			Text: "so?", Quote: &channel.Quote{ID: "5", From: "Bo", Sender: "78", Text: "one"}},
		`"text":"so?","message_thread_id":5,"is_topic_message":true,"reply_to_message":{"message_id":5,` + bo + `,"forum_topic_created":{"name":"x"}}`: {Text: "so?"},
	})
}

func TestAQuoteOfAMessageElsewhereWasLost(t *testing.T) {
	bo := `"origin":{"type":"user","sender_user":{"id":78,"first_name":"Bo"}}`
	wants(t, map[string]one{
		`"text":"so?","external_reply":{` + bo + `,"chat":{"id":-5,"title":"Crew"},"message_id":3},"quote":{"text":"one"}`: {
			Text: "so?", Quote: &channel.Quote{From: "Bo", Sender: "78", Text: "one", Elsewhere: true}},
		`"text":"so?","external_reply":{` + bo + `,"photo":[{"file_id":"p"}]}`: {
			Text: "so?", Quote: &channel.Quote{From: "Bo", Sender: "78", Elsewhere: true}, Quoted: []string{"image photo.jpg"}},
		`"text":"so?","external_reply":{"origin":{"type":"hidden_user","sender_user_name":"Cy"},"dice":{"emoji":"🎲","value":4}}`: {
			Text: "so?", Quote: &channel.Quote{From: "Cy", Text: channel.NotShown("dice: 🎲 4"), Elsewhere: true}},
		`"text":"so?","external_reply":{` + bo + `,"chat":{"id":-1001},"message_id":3},"quote":{"text":"one","is_manual":true}`: { // of another topic
			Text: "so?", Quote: &channel.Quote{ID: "3", From: "Bo", Sender: "78", Text: "one", Selected: "one"}},
		`"text":"so?","reply_to_story":{"chat":{"id":78,"first_name":"Bo"},"id":1}`: {
			Text: "so?", Quote: &channel.Quote{From: "Bo", Text: channel.NotShown("a story"), Elsewhere: true}},
	})
}

func TestPeopleWereTakenForRobots(t *testing.T) {
	wants(t, map[string]one{
		`"from":{"id":1087968824,"is_bot":true,"first_name":"Group"},"sender_chat":{"id":-1001,"title":"Desk"},"author_signature":"Captain","text":"hi"`:                                                                           {From: "Captain", Text: "hi", Role: channel.RoleAdmin},
		`"from":{"id":136817688,"is_bot":true,"first_name":"Channel"},"sender_chat":{"id":-7,"title":"Ada's news"},"text":"hi"`:                                                                                                    {From: "Ada's news", Text: "hi"},
		`"from":{"id":777000,"first_name":"Telegram"},"sender_chat":{"id":-7,"title":"News"},"author_signature":"Ann","is_automatic_forward":true,"forward_origin":{"type":"channel","chat":{"id":-7,"title":"News"}},"text":"hi"`: {From: "News", Text: "hi"},
		`"from":{"id":5,"is_bot":true,"first_name":"Robo"},"text":"hi"`:                                                                                                                                                            {},
	})
	if in := hear(t, `"from":{"id":5,"is_bot":true,"first_name":"Robo"},"left_chat_member":{"id":78,"first_name":"Bo"}`); in == nil || len(in.Left) != 1 {
		t.Errorf("a robot removed Bo, and %+v came in", in)
	}
}

func TestALinkLostItsAddress(t *testing.T) {
	link := func(text, url string, offset, length string) string {
		return `"text":"` + text + `","entities":[{"type":"text_link","offset":` + offset + `,"length":` + length + `,"url":"` + url + `"}]`
	}
	wants(t, map[string]one{
		link("😀👍🏽 here it is", "https://x.example/", "7", "4"):          {Text: "😀👍🏽 here (https://x.example/) it is"},
		link("x.example", "https://x.example/", "0", "9"):               {Text: "x.example"},
		link("https://y.example", "https://x.example", "0", "17"):       {Text: "https://y.example (https://x.example)"},
		link("beyond", "https://x.example", "3", "9"):                   {Text: "beyond"},
		link("beyond", "https://x.example", "-1", "9"):                  {Text: "beyond"},
		link("beyond", "https://x.example", "9223372036854775807", "2"): {Text: "beyond"},
		`"text":"a b","entities":[{"type":"text_link","offset":0,"length":1,"url":"https://x.example/a"},{"type":"bold","offset":0,"length":3},{"type":"text_link","offset":2,"length":1,"url":"https://x.example/b"}]`: {Text: "a (https://x.example/a) b (https://x.example/b)"},
		`"photo":[{"file_id":"p"}],"caption":"here","caption_entities":[{"type":"text_link","offset":0,"length":4,"url":"https://x.example"}]`:                                                                          {Text: "here (https://x.example)", Files: []string{"image photo.jpg"}},
		`"text":"Harbour, hi","entities":[{"type":"text_mention","offset":0,"length":7,"user":{"id":99,"is_bot":true,"first_name":"Harbour"}}]`:                                                                         {Text: "Harbour, hi", Direct: true},
		`"text":"👍","entities":[{"type":"custom_emoji","offset":0,"length":2,"custom_emoji_id":"1"}]`:                                                                                                                   {Text: "👍"},
	})
}

func TestWhatIsNoTextAndNoFileWasSilence(t *testing.T) {
	wants(t, map[string]one{
		`"sticker":{"file_id":"s","emoji":"👍"}`:                     {Kind: channel.KindSticker, Text: channel.StickerText("👍"), Files: []string{"sticker sticker.webp"}},
		`"sticker":{"file_id":"s","emoji":"👍","is_animated":true}`:  {Kind: channel.KindSticker, Text: channel.StickerText("👍")},
		`"sticker":{"file_id":"s","is_video":true}`:                 {Kind: channel.KindSticker, Text: channel.StickerText("")},
		`"location":{"latitude":1,"longitude":2,"live_period":900}`: {Kind: channel.KindLocation, Text: "Location: 1.000000, 2.000000 (live)", Name: "(live)"},
		`"contact":{"phone_number":"+49","first_name":"Bo","last_name":"Ek","vcard":"BEGIN:VCARD\nTEL:+49\nEMAIL:bo@example.org\nEND:VCARD"}`: {Kind: channel.KindContact, Text: "Contact: Bo Ek +49 bo@example.org"},
		`"poll":{"question":"When?","options":[{"text":"Mon"},{"text":"Tue"}]}`:                                                               {Kind: channel.KindPoll, Text: "Poll: When?\n- Mon\n- Tue"},
		`"dice":{"emoji":"🎲","value":4}`:                                                           {Told: "dice", Text: channel.NotShown("dice: 🎲 4")},
		`"game":{"title":"Lumber","description":"chop","photo":[]}`:                                {Told: "game", Text: channel.NotShown("game: Lumber chop")},
		`"story":{"chat":{"id":-7,"title":"News"},"id":1}`:                                         {Told: "story", Text: channel.NotShown("story")},
		`"checklist":{"title":"Buy","tasks":[{"text":"milk","completion_date":9},{"text":"tea"}]}`: {Told: "checklist", Text: channel.NotShown("checklist: Buy milk, tea")},
		`"paid_media":{"star_count":5,"paid_media":[{"type":"preview"},{"type":"photo","photo":[{"file_id":"p"}]}]},"caption":"look"`: {
			Told: "paid_media", Text: channel.NotShown("paid media") + "\nlook", Files: []string{"image photo.jpg"}},
		`"giveaway":{"chats":[],"winner_count":1,"prize_description":"a boat"}`: {Told: "giveaway", Text: channel.NotShown("giveaway: a boat")},
		`"hologram":{"text":"x"},"effect_id":"1"`:                               {Told: "hologram", Text: channel.NotShown("hologram: x")},
		`"text":"hi","hologram":{"text":"x"}`:                                   {Text: "hi"}, // a later version says something beside
		`"via_bot":{"id":1}`:                                                    {Told: "unsupported", Text: channel.NotShown("unsupported")},
		`"pinned_message":{"message_id":1,"date":1,"chat":{"id":-1001,"title":"Desk"},"text":"gate closes at 9"}`: {Kind: channel.KindNote, Text: "pinned a message: gate closes at 9"},
		`"new_chat_title":"Pier"`:                                                               {Kind: channel.KindNote, Text: "new chat title: Pier"},
		`"forum_topic_created":{"name":"Cranes","icon_color":1}`:                                {Kind: channel.KindNote, Text: "forum topic created: Cranes"},
		`"video_chat_participants_invited":{"users":[{"first_name":"Bo"},{"first_name":"Cy"}]}`: {Kind: channel.KindNote, Text: "video chat participants invited: Bo, Cy"},
		`"delete_chat_photo":true`:                                                              {Kind: channel.KindNote, Text: "delete chat photo"},
	})
}

func TestARichMessageIsItsWordsAndFiles(t *testing.T) {
	wants(t, map[string]one{`"rich_message":{"blocks":[
		{"type":"heading","text":"Report","size":1},
		{"type":"paragraph","text":["The ",{"type":"bold","text":"crane"}," is ",{"type":"url","text":"down","url":"https://x.example"},{"type":"anchor","name":"a1"},"."]},
		{"type":"list","items":[{"label":"1.","blocks":[{"type":"paragraph","text":"call"}],"value":1},{"label":"2.","blocks":[{"type":"photo","photo":[{"file_id":"p"}],"caption":{"text":"it"}}]}]},
		{"type":"table","cells":[[{"text":"a"},{"text":"b"}],[{"text":"c"},{"text":"d"}]]},
		{"type":"voice_note","voice_note":{"file_id":"v"}}]}`: {
		Text:  "Report\nThe crane is down (https://x.example).\n1. call\n2. it\na | b\nc | d",
		Files: []string{"image photo.jpg", "voice voice.ogg"},
	}})
}

func TestAFileHasTheNameThatTheMemberSaw(t *testing.T) {
	wants(t, map[string]one{
		`"audio":{"file_id":"a","performer":"The Tides","title":"Ebb"}`:                 {Files: []string{"audio The Tides - Ebb.mp3"}},
		`"audio":{"file_id":"a","title":"Ebb","mime_type":"audio/flac"}`:                {Files: []string{"audio Ebb.flac"}},
		`"audio":{"file_id":"a","title":"Ebb","file_name":"01.m4a"}`:                    {Files: []string{"audio 01.m4a"}},
		`"video":{"file_id":"v","mime_type":"video/quicktime"}`:                         {Files: []string{"video video.mov"}},
		`"video_note":{"file_id":"v"}`:                                                  {Files: []string{"video video.mp4"}},
		`"document":{"file_id":"d","mime_type":"application/pdf"}`:                      {Files: []string{"document file.pdf"}},
		`"document":{"file_id":"d","file_name":"Übersicht 2026.tar.gz"}`:                {Files: []string{"document Übersicht 2026.tar.gz"}},
		`"live_photo":{"file_id":"l"},"photo":[{"file_id":"p"}]`:                        {Files: []string{"image photo.jpg", "video photo.mp4"}},
		`"animation":{"file_id":"a","file_name":"wave.mp4"},"document":{"file_id":"a"}`: {Files: []string{"video wave.mp4"}},
	})
	if f := hear(t, `"animation":{"file_id":"a"}`).Files[0]; !f.Loop || f.Kind != media.Video {
		t.Errorf("an animation came in as %+v", f)
	}
}

func TestAReactionThatIsNoEmojiWasTakenForNone(t *testing.T) {
	for fields, want := range map[string][2]string{
		`"user":{"id":77,"first_name":"Ada"},"new_reaction":[{"type":"emoji","emoji":"👍"}]`:                  {"77", "👍"},
		`"user":{"id":77,"first_name":"Ada"},"new_reaction":[{"type":"custom_emoji","custom_emoji_id":"1"}]`: {"77", "custom emoji"},
		`"user":{"id":77,"first_name":"Ada"},"new_reaction":[]`:                                              {"77", ""},
		`"actor_chat":{"id":-1001,"title":"Desk"},"new_reaction":[{"type":"paid"}]`:                          {"-1001", "paid"},
	} {
		_, in, err := decode([]byte(`{"update_id":9,"message_reaction":{"chat":{"id":-1001,"type":"supergroup"},"message_id":5,"date":1,`+fields+`}}`), nil)
		if err != nil || in == nil || in.Emoji != want[1] || in.Sender != want[0] || in.ID != "r9" || in.Target != "5" {
			t.Errorf("%s: %+v %v", fields, in, err)
		}
	}
}

func TestAnEditOfACaptionKeepsItsLink(t *testing.T) {
	_, in, err := decode([]byte(`{"update_id":9,"edited_message":{"message_id":5,"edit_date":7,"chat":{"id":-1001},"from":{"id":77,"first_name":"Ada"},"photo":[{"file_id":"p"}],
		"caption":"here","caption_entities":[{"type":"text_link","offset":0,"length":4,"url":"https://x.example"}]}}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := &channel.Inbound{Kind: channel.KindEdit, ID: "e9", Chat: "tg:-1001", From: "Ada", Sender: "77", Time: time.Unix(7, 0), Target: "5", Text: "here (https://x.example)"}
	if diff := cmp.Diff(want, in); diff != "" {
		t.Error(diff)
	}
}

// TestMessagesWithoutANumberAreNotTheSame: Telegram gives none to messages that one member
// alone sees.
func TestMessagesWithoutANumberAreNotTheSame(t *testing.T) {
	_, in, err := decode([]byte(`{"update_id":9,"message":{"message_id":0,"ephemeral_message_id":1,"date":1,"chat":{"id":-1001},"from":{"id":77},"text":"psst"}}`), nil)
	if err != nil || in == nil || in.ID != "u9" {
		t.Errorf("%+v %v", in, err)
	}
}

package discord

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/bot"
)

// schema is what the npm package discord-api-types knows of what comes in.
type schema struct {
	MessageTypes, ComponentTypes, StickerFormats, ReferenceTypes map[string]int
	MessageFields, SnapshotFields, AttachmentFields              []string
	EmbedFields, PollFields, Events                              []string
}

func schemaOf(t *testing.T) (s schema) {
	t.Helper()
	data, err := os.ReadFile("testdata/schema.json")
	if err == nil {
		err = json.Unmarshal(data, &s)
	}
	if err != nil || len(s.MessageTypes) < 30 || len(s.Events) < 60 {
		t.Fatalf("testdata/schema.json: %v, %+v", err, s)
	}
	return s
}

// bare is a message that shows nothing, with other fields instead of some of its own.
func bare(fields map[string]string) string {
	all := map[string]string{"id": `"4194304"`, "channel_id": `"1"`, "guild_id": `"9"`, "type": `0`, "content": `""`, "author": `{"id":"3","username":"ada"}`}
	maps.Copy(all, fields)
	return object(all)
}

// object is a document of these fields.
func object(fields map[string]string) string {
	var all []string
	for name, value := range fields {
		all = append(all, `"`+name+`":`+value)
	}
	return "{" + strings.Join(all, ",") + "}"
}

// with is an object with one more field, if it has a value.
func with(fields map[string]string, name, value string) string {
	all := map[string]string{}
	if maps.Copy(all, fields); value != "" {
		all[name] = value
	}
	return object(all)
}

// decoded is all that comes of a message, as it is new and as it is edited.
func decoded(t *testing.T, doc string) (is string, all []event) {
	t.Helper()
	for _, kind := range []string{"MESSAGE_CREATE", "MESSAGE_UPDATE"} {
		got, err := decode(kind, []byte(doc), &self{id: "2", app: "8", flags: flagContent})
		if err != nil {
			t.Fatal(err)
		}
		for _, ev := range got {
			body, err := bot.Encode(ev.Inbound, ev.own)
			if err != nil {
				t.Fatal(err)
			}
			is += fmt.Sprintf("%s %s %s %v\n", body, ev.ID, ev.guild, ev.mentions)
		}
		all = append(all, got...)
	}
	return is, all
}

// TestEveryTypeOfMessageComesInOrHasAReason: a type without a row fails.
func TestEveryTypeOfMessageComesInOrHasAReason(t *testing.T) {
	s := schemaOf(t)
	for name, n := range s.MessageTypes {
		_, all := decoded(t, bare(map[string]string{"type": fmt.Sprint(n), "content": `"words"`}))
		row, ok := systemTypes[n]
		switch {
		case n == typeDefault || n == typeReply:
			if len(all) != 1 || all[0].Kind != channel.KindMessage || all[0].Text != "words" {
				t.Errorf("%s came in as %+v", name, all)
			}
		case !ok || row.name != name || row.note == "" && row.ignored == "":
			t.Errorf("%s (%d) has no row in systemTypes", name, n)
		case row.ignored != "":
			if len(all) != 0 {
				t.Errorf("%s is ignored, since %s, and came in as %+v", name, row.ignored, all)
			}
		case len(all) != 1 || all[0].Kind != channel.KindNote || all[0].Told != "" || all[0].Text != row.note+": words":
			t.Errorf("%s came in as %+v", name, all)
		}
	}
	if len(systemTypes) != len(s.MessageTypes)-2 {
		t.Error("systemTypes has rows of types that Discord does not have")
	}
}

// walk demands of each field that it changes what comes of a document, or that its reason
// to be ignored is given and it changes nothing.
func walk(t *testing.T, what string, fields []string, samples, ignored map[string]string, doc func(name, value string) string) {
	t.Helper()
	without, _ := decoded(t, doc("", ""))
	for _, name := range fields {
		sample, reason := samples[name], ignored[name]
		switch is, _ := decoded(t, doc(name, sample)); {
		case sample == "" && reason == "":
			t.Errorf("the field %s of %s has no row", name, what)
		case sample != "" && is == without:
			t.Errorf("the field %s of %s changes nothing", name, what)
		case sample != "" && reason != "":
			t.Errorf("the field %s of %s is both read and ignored, since %s", name, what, reason)
		}
	}
	for _, rows := range []map[string]string{samples, ignored} {
		for name := range rows {
			if !slices.Contains(fields, name) {
				t.Errorf("%s has no field %s", what, name)
			}
		}
	}
}

func TestEveryFieldOfAMessageIsReadOrHasAReason(t *testing.T) {
	s := schemaOf(t)
	content := map[string]string{
		"attachments": `[{"id":"5","filename":"a.txt","url":"https://x"}]`, "components": `[{"type":10,"content":"c"}]`, "content": `"c"`, "embeds": `[{"type":"rich","description":"d"}]`,
		"mention_roles": `["7"]`, "mentions": `[{"id":"2"}]`, "sticker_items": `[{"id":"6","name":"s","format_type":1}]`, "type": `6`, "edited_timestamp": `"now"`,
	}
	whole := maps.Clone(content)
	maps.Copy(whole, map[string]string{
		"activity": `{"type":1}`, "author": `{"id":"4"}`, "channel_id": `"12"`, "guild_id": `"13"`, "id": `"14"`, "member": `{"nick":"n"}`, "message_reference": `{"type":1}`,
		"message_snapshots": `[{"message":{"content":"c"}}]`, "poll": `{"question":{"text":"q"}}`, "referenced_message": `{"id":"15","author":{"id":"4"},"content":"c"}`,
		"shared_client_theme": `{"colors":["ffffff"]}`, "webhook_id": `"16"`,
	})
	walk(t, "a message", s.MessageFields, whole, ignoredFields, func(name, value string) string {
		if name == "" {
			return bare(nil)
		}
		if value == "" {
			value = `{"a":1}`
		}
		return bare(map[string]string{name: value})
	})
	maps.DeleteFunc(content, func(name, _ string) bool { return !slices.Contains(s.SnapshotFields, name) })
	delete(content, "mention_roles")
	delete(content, "edited_timestamp")
	content["mentions"], content["content"] = `[{"id":"2","username":"bo"}]`, `"c"`
	walk(t, "a snapshot", s.SnapshotFields, content, map[string]string{
		"edited_timestamp": "the text is that of the moment", "flags": ignoredFields["flags"], "mention_roles": "the forwarded message did not speak to the assistant",
		"stickers": ignoredFields["stickers"], "timestamp": "the forward counts, not what it forwards",
	}, func(name, value string) string {
		return bare(map[string]string{"message_snapshots": `[{"message":` + with(map[string]string{"content": `"<@2>"`}, name, value) + `}]`})
	})
}

func TestEveryFieldOfAFileAnEmbedAndAPollIsReadOrHasAReason(t *testing.T) {
	s := schemaOf(t)
	look := "how it looks"
	walk(t, "a file", s.AttachmentFields, map[string]string{
		"id": `"55"`, "filename": `"b.txt"`, "title": `"t"`, "description": `"d"`, "content_type": `"a/b"`, "size": `8`, "url": `"https://y"`, "waveform": `"AA=="`,
	}, map[string]string{
		"application": "what was played in a clip", "clip_created_at": "when a clip was made", "clip_participants": "who is in a clip", "duration_secs": "the file itself says it",
		"ephemeral": "of messages of robots alone", "flags": look, "height": look, "placeholder": look, "placeholder_version": look, "proxy_url": "the same file", "width": look,
	}, func(name, value string) string {
		file := with(map[string]string{"id": `"5"`, "filename": `"a.txt"`, "url": `"https://x"`}, name, value)
		return bare(map[string]string{"attachments": "[" + file + "]"})
	})
	walk(t, "an embed", s.EmbedFields, map[string]string{
		"author": `{"name":"n"}`, "description": `"dd"`, "fields": `[{"name":"n","value":"v"}]`, "footer": `{"text":"f"}`, "image": `{"url":"https://i"}`,
		"thumbnail": `{"url":"https://t"}`, "title": `"t"`, "type": `"link"`, "url": `"https://u"`, "video": `{"url":"https://v"}`,
	}, map[string]string{"color": look, "flags": look, "provider": "the address says it", "timestamp": "a robot's time for what it shows"}, func(name, value string) string {
		box := with(map[string]string{"type": `"rich"`, "description": `"d"`}, name, value)
		return bare(map[string]string{"message_snapshots": `[{"message":{"content":"words","embeds":[` + box + `]}}]`})
	})
	walk(t, "a poll", s.PollFields, map[string]string{"answers": `[{"poll_media":{"text":"a"}}]`, "question": `{"text":"q"}`}, map[string]string{
		"allow_multiselect": "the assistant cannot vote", "expiry": "a message of its own says that the poll ended", "layout_type": look, "results": "a message of its own says them",
	}, func(name, value string) string {
		return bare(map[string]string{"poll": with(nil, name, value)})
	})
}

// TestEveryComponentIsToldInWordsOrHasAReason: one without a row fails. Components are a
// robot's, and come in by a forward or a quote.
func TestEveryComponentIsToldInWordsOrHasAReason(t *testing.T) {
	form := "only in forms, which messages do not have"
	picks := "what a member may pick is the server's"
	rows := map[string]struct{ doc, want, ignored string }{
		"ActionRow":             {`"components":[{"type":2,"label":"Yes"}]`, "Yes", ""},
		"Button":                {`"label":"Log","url":"https://x"`, "Log\nhttps://x", ""},
		"StringSelect":          {`"placeholder":"When?","options":[{"label":"Mon","value":"1"}]`, "When?", ""},
		"SelectMenu":            {`"placeholder":"When?"`, "When?", ""},
		"Section":               {`"components":[{"type":10,"content":"c"}],"accessory":{"type":2,"label":"More"}`, "c\nMore", ""},
		"TextDisplay":           {`"content":"c"`, "c", ""},
		"Thumbnail":             {`"media":{"url":"https://x"},"description":"a quay"`, "a quay\nhttps://x", ""},
		"MediaGallery":          {`"items":[{"media":{"url":"https://x"}},{"media":{"url":"https://y"},"description":"a quay"}]`, "https://x\na quay\nhttps://y", ""},
		"File":                  {`"file":{"url":"https://x/a.txt"}`, "https://x/a.txt", ""},
		"Container":             {`"components":[{"type":10,"content":"c"}]`, "c", ""},
		"Separator":             {ignored: "a line"},
		"UserSelect":            {ignored: picks},
		"RoleSelect":            {ignored: picks},
		"MentionableSelect":     {ignored: picks},
		"ChannelSelect":         {ignored: picks},
		"ContentInventoryEntry": {ignored: "what somebody plays; Discord documents no content"},
		"TextInput":             {ignored: form}, "Label": {ignored: form}, "FileUpload": {ignored: form},
		"RadioGroup": {ignored: form}, "CheckboxGroup": {ignored: form}, "Checkbox": {ignored: form},
	}
	types := schemaOf(t).ComponentTypes
	for name, n := range types {
		row, ok := rows[name]
		if !ok || row.want == "" && row.ignored == "" {
			t.Errorf("the component %s has no row", name)
		}
		if row.ignored != "" {
			continue
		}
		_, all := decoded(t, bare(map[string]string{"message_snapshots": fmt.Sprintf(`[{"message":{"components":[{"type":%d,%s}]}}]`, n, row.doc)}))
		if len(all) != 1 || all[0].Text != row.want {
			t.Errorf("the component %s came in as %+v, want %q", name, all, row.want)
		}
	}
	if len(rows) != len(types) {
		t.Error("there are rows of components that Discord does not have")
	}
}

func TestEveryFormatOfStickersAndReferencesIsKnown(t *testing.T) {
	s := schemaOf(t)
	want := map[string]string{"PNG": "s.png", "APNG": "s.png", "GIF": "s.gif", "Lottie": ""} // vectors are no picture
	for name, n := range s.StickerFormats {
		file, ok := want[name]
		_, all := decoded(t, bare(map[string]string{"sticker_items": fmt.Sprintf(`[{"id":"6","name":"s","format_type":%d}]`, n)}))
		if !ok || len(all) != 1 || all[0].Kind != channel.KindSticker || all[0].Text != "sent a sticker: s" || (file == "") != (len(all[0].Files) == 0) || file != "" && all[0].Files[0].Name != file {
			t.Errorf("a sticker of the format %s came in as %+v", name, all)
		}
	}
	for name, n := range s.ReferenceTypes {
		_, all := decoded(t, bare(map[string]string{"message_reference": fmt.Sprintf(`{"type":%d}`, n)}))
		if forward, ok := map[string]bool{"Default": false, "Forward": true}[name]; !ok || len(all) != 1 || all[0].Forwarded != forward {
			t.Errorf("a reference of the type %s came in as %+v", name, all)
		}
	}
}

// TestEveryEventIsTakenOrHasAReason: one without a row fails.
func TestEveryEventIsTakenOrHasAReason(t *testing.T) {
	ids := `"id":"4194304","channel_id":"1","guild_id":"9","message_id":"4194305","user_id":"3","user":{"id":"3"},"author":{"id":"3"},"edited_timestamp":"now","emoji":{"name":"a"},
		"application_id":"8","token":"t","type":2,"data":{"name":"stop"},"member":{"user":{"id":"3"}},"ids":["4194306"]`
	taken := []string{"MESSAGE_CREATE", "MESSAGE_UPDATE", "MESSAGE_DELETE", "MESSAGE_DELETE_BULK", "MESSAGE_REACTION_ADD", "MESSAGE_REACTION_REMOVE", "GUILD_MEMBER_ADD", "GUILD_MEMBER_REMOVE", "INTERACTION_CREATE"}
	type reason struct{ of, why string }
	reasons := []reason{
		{"READY RESUMED RATE_LIMITED", "the connection's own"},
		{"GUILD_CREATE GUILD_UPDATE CHANNEL_CREATE CHANNEL_UPDATE THREAD_CREATE THREAD_UPDATE THREAD_LIST_SYNC GUILD_ROLE_CREATE GUILD_ROLE_UPDATE GUILD_ROLE_DELETE", "the channel learns servers, channels and roles by them"},
		{"GUILD_DELETE CHANNEL_DELETE THREAD_DELETE THREAD_MEMBERS_UPDATE THREAD_MEMBER_UPDATE GUILD_MEMBER_UPDATE GUILD_MEMBERS_CHUNK USER_UPDATE", "what is gone or changed is met at the next request, and named by the next message"},
		{"CHANNEL_INFO CHANNEL_PINS_UPDATE TYPING_START", "a message says it, or will"},
		{"MESSAGE_REACTION_REMOVE_ALL MESSAGE_REACTION_REMOVE_EMOJI", "a moderator removes others' reactions, and Discord does not say whose"},
		{"MESSAGE_POLL_VOTE_ADD MESSAGE_POLL_VOTE_REMOVE", "the bot does not ask for them: a message says how the poll ended"},
		{"AUTO_MODERATION_ACTION_EXECUTION AUTO_MODERATION_RULE_CREATE AUTO_MODERATION_RULE_DELETE AUTO_MODERATION_RULE_UPDATE GUILD_AUDIT_LOG_ENTRY_CREATE GUILD_BAN_ADD GUILD_BAN_REMOVE", "moderators' own; the bot does not ask for them"},
		{"GUILD_SCHEDULED_EVENT_CREATE GUILD_SCHEDULED_EVENT_DELETE GUILD_SCHEDULED_EVENT_UPDATE GUILD_SCHEDULED_EVENT_USER_ADD GUILD_SCHEDULED_EVENT_USER_REMOVE", "of the server, in no chat; the bot does not ask for them"},
		{"GUILD_EMOJIS_UPDATE GUILD_STICKERS_UPDATE GUILD_SOUNDBOARD_SOUND_CREATE GUILD_SOUNDBOARD_SOUND_DELETE GUILD_SOUNDBOARD_SOUNDS_UPDATE GUILD_SOUNDBOARD_SOUND_UPDATE SOUNDBOARD_SOUNDS", "what the server offers its members"},
		{"APPLICATION_COMMAND_PERMISSIONS_UPDATE GUILD_INTEGRATIONS_UPDATE INTEGRATION_CREATE INTEGRATION_DELETE INTEGRATION_UPDATE INVITE_CREATE INVITE_DELETE WEBHOOKS_UPDATE", "the server's settings"},
		{"ENTITLEMENT_CREATE ENTITLEMENT_DELETE ENTITLEMENT_UPDATE SUBSCRIPTION_CREATE SUBSCRIPTION_DELETE SUBSCRIPTION_UPDATE", "what members buy of the application"},
		{"PRESENCE_UPDATE", "who is online; the bot does not ask for it"},
		{"STAGE_INSTANCE_CREATE STAGE_INSTANCE_DELETE STAGE_INSTANCE_UPDATE", "messages of their own say so in the chat of the stage"},
		{"VOICE_CHANNEL_EFFECT_SEND VOICE_CHANNEL_START_TIME_UPDATE VOICE_CHANNEL_STATUS_UPDATE VOICE_SERVER_UPDATE VOICE_STATE_UPDATE", "of calls, which the bot does not join"},
	}
	events := schemaOf(t).Events
	n := len(taken)
	for _, r := range reasons {
		n += len(strings.Fields(r.of))
	}
	for _, name := range events {
		all, err := decode(name, []byte("{"+ids+"}"), &self{id: "2", app: "8", flags: flagContent})
		if err != nil {
			t.Fatal(err)
		}
		ignored := slices.ContainsFunc(reasons, func(r reason) bool { return slices.Contains(strings.Fields(r.of), name) })
		switch takes := slices.Contains(taken, name); {
		case takes == ignored:
			t.Errorf("the event %s has no row, or two", name)
		case takes && len(all) == 0 && name != "MESSAGE_CREATE" && name != "MESSAGE_UPDATE", ignored && len(all) > 0:
			t.Errorf("of the event %s came %+v", name, all)
		}
	}
	if n != len(events) {
		t.Errorf("there are %d events and %d rows", len(events), n)
	}
}

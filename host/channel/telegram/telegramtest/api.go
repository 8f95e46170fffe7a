package telegramtest

// Each method has a struct with the parameters that https://core.telegram.org/bots/api
// documents; a request with another one, or of another type, is refused.

type none struct{}

type entity struct {
	Type     string `json:"type"`
	Offset   int    `json:"offset"`
	Length   int    `json:"length"`
	URL      string `json:"url"`
	Language string `json:"language"`
}

type target struct {
	Chat    int64 `json:"chat_id"`
	Message int64 `json:"message_id"`
}

type place struct {
	Chat   int64 `json:"chat_id"`
	Thread int64 `json:"message_thread_id"`
	Silent bool  `json:"disable_notification"`
	Reply  struct {
		Message int64 `json:"message_id"`
		Anyway  bool  `json:"allow_sending_without_reply"`
	} `json:"reply_parameters"`
}

type caption struct {
	Caption  string   `json:"caption"`
	Entities []entity `json:"caption_entities"`
}

type preview struct {
	Off bool `json:"is_disabled"`
}

type captioned struct {
	place
	caption
}

type item struct {
	Type string `json:"type"`
	File string `json:"media"`
	caption
	Plain     bool `json:"disable_content_type_detection"`
	Streaming bool `json:"supports_streaming"`
}

type option struct {
	Text string `json:"text"`
}

type emoji struct {
	Type  string `json:"type"`
	Emoji string `json:"emoji"`
}

// methods makes the parameters of each method.
var methods = map[string]func() any{
	"getMe":          func() any { return new(none) },
	"getWebhookInfo": func() any { return new(none) },
	"deleteWebhook": func() any {
		return new(struct {
			Drop bool `json:"drop_pending_updates"`
		})
	},
	"setWebhook": func() any {
		return new(struct {
			URL     string   `json:"url"`
			Secret  string   `json:"secret_token"`
			Allowed []string `json:"allowed_updates"`
			Most    int      `json:"max_connections"`
			Drop    bool     `json:"drop_pending_updates"`
		})
	},
	"getUpdates": func() any {
		return new(struct {
			Offset  int64    `json:"offset"`
			Limit   int      `json:"limit"`
			Timeout int      `json:"timeout"`
			Allowed []string `json:"allowed_updates"`
		})
	},
	"setMyCommands": func() any {
		return new(struct {
			Commands []struct {
				Command     string `json:"command"`
				Description string `json:"description"`
			} `json:"commands"`
		})
	},
	"getFile": func() any {
		return new(struct {
			ID string `json:"file_id"`
		})
	},
	"getChat": func() any {
		return new(struct {
			Chat int64 `json:"chat_id"`
		})
	},
	"getChatMember": func() any {
		return new(struct {
			Chat int64 `json:"chat_id"`
			User int64 `json:"user_id"`
		})
	},
	"sendChatAction": func() any {
		return new(struct {
			Chat   int64  `json:"chat_id"`
			Thread int64  `json:"message_thread_id"`
			Action string `json:"action"`
		})
	},
	"sendMessage": func() any {
		return new(struct {
			place
			Text     string   `json:"text"`
			Entities []entity `json:"entities"`
			Preview  preview  `json:"link_preview_options"`
		})
	},
	"sendDocument": func() any {
		return new(struct {
			captioned
			File  string `json:"document"`
			Plain bool   `json:"disable_content_type_detection"`
		})
	},
	"sendPhoto": func() any {
		return new(struct {
			captioned
			File string `json:"photo"`
		})
	},
	"sendVideo": func() any {
		return new(struct {
			captioned
			File      string `json:"video"`
			Streaming bool   `json:"supports_streaming"`
		})
	},
	"sendAnimation": func() any {
		return new(struct {
			captioned
			File string `json:"animation"`
		})
	},
	"sendAudio": func() any {
		return new(struct {
			captioned
			File string `json:"audio"`
		})
	},
	"sendVoice": func() any {
		return new(struct {
			captioned
			File string `json:"voice"`
		})
	},
	"sendSticker": func() any {
		return new(struct {
			place
			File string `json:"sticker"`
		})
	},
	"sendMediaGroup": func() any {
		return new(struct {
			place
			Media []item `json:"media"`
		})
	},
	"sendPoll": func() any {
		return new(struct {
			place
			Question  string   `json:"question"`
			Options   []option `json:"options"`
			Anonymous bool     `json:"is_anonymous"`
			Several   bool     `json:"allows_multiple_answers"`
		})
	},
	"stopPoll": func() any { return new(target) },
	"editMessageText": func() any {
		return new(struct {
			target
			Text     string   `json:"text"`
			Entities []entity `json:"entities"`
			Preview  preview  `json:"link_preview_options"`
		})
	},
	"editMessageCaption": func() any {
		return new(struct {
			target
			caption
		})
	},
	"deleteMessage": func() any { return new(target) },
	"deleteMessages": func() any {
		return new(struct {
			Chat     int64   `json:"chat_id"`
			Messages []int64 `json:"message_ids"`
		})
	},
	"setMessageReaction": func() any {
		return new(struct {
			target
			Reaction []emoji `json:"reaction"`
			Big      bool    `json:"is_big"`
		})
	},
}

// call are the parameters of any method.
type call struct {
	place
	caption
	Message      int64    `json:"message_id"`
	Messages     []int64  `json:"message_ids"`
	Text         string   `json:"text"`
	TextEntities []entity `json:"entities"`
	FileID       string   `json:"file_id"`
	User         int64    `json:"user_id"`
	Offset       int64    `json:"offset"`
	Limit        int      `json:"limit"`
	Timeout      int      `json:"timeout"`
	Media        []item   `json:"media"`
	Question     string   `json:"question"`
	Options      []option `json:"options"`
	Anonymous    *bool    `json:"is_anonymous"`
	Several      bool     `json:"allows_multiple_answers"`
	Reaction     []emoji  `json:"reaction"`
	URL          string   `json:"url"`
	Secret       string   `json:"secret_token"`

	Document, Photo, Video, Animation, Audio, Voice, Sticker string
}

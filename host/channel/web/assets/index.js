// The page that lists the chats.
import "./kept.js";
import "./chats.js";

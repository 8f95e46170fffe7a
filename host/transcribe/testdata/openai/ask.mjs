// Has OpenAI's own client ask the service at argv[2] to transcribe the file argv[3].
import fs from "node:fs";
import { createRequire } from "node:module";
const OpenAI = createRequire(process.argv[4] + "/")("openai");
const client = new OpenAI({ apiKey: "sk-verysecret", baseURL: process.argv[2] + "/v1", maxRetries: 0 });
const said = await client.audio.transcriptions.create({
  file: fs.createReadStream(process.argv[3]), model: "whisper-1", language: "en", response_format: "json",
});
process.stdout.write(said.text);

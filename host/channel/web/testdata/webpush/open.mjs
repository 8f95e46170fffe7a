// Opens a notification as a browser and a push service do, with npm's http_ece and
// jose. Standard input is {private, auth, body, token, key, audience}, binary as base64url;
// standard output is {text, claims}.
import { createECDH } from "node:crypto";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const modules = process.argv[2] + "/";
const ece = createRequire(modules)("http_ece");
const { jwtVerify, importJWK } = await import(pathToFileURL(modules + "jose/dist/webapi/index.js"));

const sent = JSON.parse(readFileSync(0, "utf8"));
const browser = createECDH("prime256v1");
browser.setPrivateKey(sent.private, "base64url");
const text = ece.decrypt(Buffer.from(sent.body, "base64url"), { version: "aes128gcm", privateKey: browser, authSecret: sent.auth });

const point = Buffer.from(sent.key, "base64url");
const jwk = { kty: "EC", crv: "P-256", x: point.subarray(1, 33).toString("base64url"), y: point.subarray(33).toString("base64url") };
const { payload } = await jwtVerify(sent.token, await importJWK(jwk, "ES256"), { audience: sent.audience });
console.log(JSON.stringify({ text: text.toString(), claims: payload }));

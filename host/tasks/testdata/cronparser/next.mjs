// Prints, for each {expression, after} of the JSON list on stdin, the next five times in
// ISO form, or "refused".
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";

const { CronExpressionParser } = createRequire(process.argv[2] + "/")(process.argv[2] + "/cron-parser");
const answers = JSON.parse(readFileSync(0, "utf8")).map(({ expression, after }) => {
  try {
    const each = CronExpressionParser.parse(expression, { currentDate: new Date(after), tz: "UTC" });
    return Array.from({ length: 5 }, () => each.next().toDate().toISOString());
  } catch {
    return ["refused"];
  }
});
process.stdout.write(JSON.stringify(answers));

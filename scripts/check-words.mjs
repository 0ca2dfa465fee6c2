// Finds words that comments and documentation avoid, in the lines that a change adds: `npm run check:words`, or with a revision
// to compare with, `npm run check:words -- HEAD~5`. Without one, everything since the branch left origin/main. Older lines are
// not checked.
import { execFileSync } from "node:child_process";

/** What is found, and what to write instead. CONTRIBUTING.md lists them. */
const rules = [
  [/\b(whoever|nobody|somebody|everybody|the one whose|those (that|who))\b/i, "name the thing"],
  [/\bwhat becomes of\b/i, "name the result"],
  [/\bin vain\b/i, "empty, without a result"],
  [/\bfor ?ever\b/i, "without limit; `Default: none`"],
  [/\bby itself\b/i, "automatically"],
  [/\bso many\b/i, "this many, a limit of"],
  [/\bbeside\b/i, "next to, besides"],
  [/\b(sees|hears|knows|wants|tells|says)\b/i, "reads, receives, contains, needs, reports, returns"],
  [/\b(gives?|gave|given) back\b/i, "release"],
  [/\b(goes|go|went) on\b/i, "continue, resume"],
  [/\blooks? at\b/i, "read, query, poll"],
  [/\bstretch(es)? of time\b/i, "time bucket"],
  [/\blanes?\b/i, "queue type"],
  [/\bplace in line\b/i, "position in the queue"],
];

const git = (...args) => execFileSync("git", args, { encoding: "utf8", maxBuffer: 2 ** 28 });

const findBase = () => {
  try {
    return git("merge-base", "HEAD", "origin/main").trim();
  } catch {
    return "HEAD";
  }
};

const isComment = (text) => /^\s*(\/\/|\/\*|\*)/.test(text) || /\s\/\/ /.test(text);

const base = process.argv[2] ?? findBase();
const checked = ["*.md", "*.ts", "*.tsx", "*.mjs", "*.css", ":!CONTRIBUTING.md", ":!scripts/check-words.mjs"];
const found = [];
let file = "";
let number = 0;
for (const line of git("diff", "--unified=0", "--no-color", base, "--", ...checked).split("\n")) {
  if (line.startsWith("+++ ")) file = line.slice("+++ b/".length);
  else if (line.startsWith("@@")) number = Number(/\+(\d+)/.exec(line)[1]);
  else if (line.startsWith("+")) {
    const text = line.slice(1);
    if (file.endsWith(".md") || isComment(text))
      for (const [word, instead] of rules) {
        const match = word.exec(text);
        if (match) found.push(`${file}:${number}: "${match[0]}": ${instead}`);
      }
    number += 1;
  }
}
if (found.length > 0) {
  console.error(`${found.join("\n")}\n\nCONTRIBUTING.md has the list of words.`);
  process.exitCode = 1;
}

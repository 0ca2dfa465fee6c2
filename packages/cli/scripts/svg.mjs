const palette = {
  red: "#f47067",
  green: "#6bc46d",
  yellow: "#daaa3f",
  blue: "#6cb6ff",
  magenta: "#dcbdfb",
  cyan: "#56d4dd",
  grey: "#8b949e",
};

const escape = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

const runsOf = (line) => {
  const runs = [];
  for (const { character, style } of line) {
    const last = runs.at(-1);
    if (last !== undefined && JSON.stringify(last.style) === JSON.stringify(style)) last.text += character;
    else runs.push({ style, text: character });
  }
  return runs;
};

const renderRun = ({ style, text }) => {
  const attributes = [
    ...(style.colour === undefined ? [] : [`fill="${palette[style.colour]}"`]),
    ...(style.bold ? ['font-weight="bold"'] : []),
    ...(style.dim ? ['fill-opacity="0.6"'] : []),
  ];
  return attributes.length === 0 ? escape(text) : `<tspan ${attributes.join(" ")}>${escape(text)}</tspan>`;
};

const fontSize = 13;
const characterWidth = 7.83;
const lineHeight = 18;
const margin = 16;

/** A screen as a picture, in a font of fixed width that every system has some form of. */
export const renderSvg = (lines, { title }) => {
  const columns = Math.max(...lines.map((line) => line.length));
  const width = Math.ceil(columns * characterWidth + 2 * margin);
  const height = lines.length * lineHeight + 2 * margin;
  const texts = lines.map((line, index) => {
    const y = margin + (index + 0.75) * lineHeight;
    const length = Math.round(line.length * characterWidth * 100) / 100;
    // Fixed to the columns of the terminal, whichever font stands in.
    return line.length === 0
      ? ""
      : `<text x="${margin}" y="${y}" textLength="${length}" xml:space="preserve">${runsOf(line).map(renderRun).join("")}</text>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="${escape(title)}">
<title>${escape(title)}</title>
<rect width="100%" height="100%" rx="8" fill="#161b22"/>
<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="${fontSize}" fill="#e6edf3">
${texts.filter((text) => text !== "").join("\n")}
</g>
</svg>
`;
};

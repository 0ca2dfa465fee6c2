// A terminal in a few lines: enough of one to know what a program that writes over its own output has left on the screen.

const plain = { colour: undefined, bold: false, dim: false };
const colours = { 31: "red", 32: "green", 33: "yellow", 34: "blue", 35: "magenta", 36: "cyan", 90: "grey" };

const applyStyle = (style, codes) => {
  let next = style;
  for (const code of codes) {
    if (code === 0) next = plain;
    else if (code === 1) next = { ...next, bold: true };
    else if (code === 2) next = { ...next, dim: true };
    else if (code === 22) next = { ...next, bold: false, dim: false };
    else if (code === 39) next = { ...next, colour: undefined };
    else if (colours[code] !== undefined) next = { ...next, colour: colours[code] };
  }
  return next;
};

// oxlint-disable-next-line no-control-regex -- escape sequences begin with one
const pieces = /\u001b\[([?0-9;]*)([A-Za-z])|\u001b[^[]|[\s\S]/gu;

/** The lines on the screen after this output, each a list of `{ character, style }`. */
export const readScreen = (output) => {
  const lines = [[]];
  let row = 0;
  let column = 0;
  let style = plain;
  const lineAt = (index) => {
    while (lines.length <= index) lines.push([]);
    return lines[index];
  };
  const control = (parameters, command) => {
    const numbers = parameters.split(";").map(Number);
    const count = numbers[0] || 1;
    if (command === "A") row = Math.max(0, row - count);
    else if (command === "B") row += count;
    else if (command === "C") column += count;
    else if (command === "D") column = Math.max(0, column - count);
    else if (command === "G") column = count - 1;
    else if (command === "K" && numbers[0] === 2) lines[row] = [];
    else if (command === "K") lineAt(row).length = Math.min(lineAt(row).length, column);
    else if (command === "J") lines.length = row + 1;
    else if (command === "m") style = applyStyle(style, numbers);
  };
  for (const [piece, parameters, command] of output.matchAll(pieces)) {
    if (command !== undefined) control(parameters, command);
    else if (piece === "\n") row += 1;
    else if (piece === "\r") column = 0;
    else if (piece >= " ") {
      const line = lineAt(row);
      while (line.length < column) line.push({ character: " ", style: plain });
      line[column] = { character: piece, style };
      column += 1;
    }
  }
  while (lines.length > 0 && lines.at(-1).length === 0) lines.pop();
  return lines;
};

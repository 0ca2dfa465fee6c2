/** Elements are marked, so that one that comes to life is found. */
const elements = [
  `<img data-evil src=x onerror="window.wasHere=1">`,
  `"><svg data-evil onload=window.wasHere=1>`,
  `<svg data-evil><script>window.wasHere=1</script></svg>`,
  `<svg data-evil><animate onbegin=window.wasHere=1 attributeName=x dur=1s>`,
  `</script><script data-evil>window.wasHere=1</script>`,
  `<iframe data-evil srcdoc="<script>parent.wasHere=1</script>">`,
  `<a data-evil href="javascript:window.wasHere=1">click</a>`,
  `<style data-evil>*{display:none}</style>`,
  `<details data-evil open ontoggle=window.wasHere=1>`,
  `<input data-evil autofocus onfocus=window.wasHere=1>`,
  `<template data-evil><b>wasHere</b></template>`,
  `<math><mtext><table><mglyph><style><img data-evil src onerror=window.wasHere=1>`,
  `<noscript><p title="</noscript><img data-evil src onerror=window.wasHere=1>">`,
  `<object data-evil data="javascript:window.wasHere=1"></object><embed data-evil src=x>`,
  `<form data-evil action="javascript:window.wasHere=1"><button>go</button></form>`,
  `<base data-evil href="//evil.example/"><meta data-evil http-equiv=refresh content="0;url=//evil.example">`,
  `<link data-evil rel=stylesheet href="//evil.example/wasHere.css">`,
  `</textarea></title></option><b data-evil>wasHere</b><!-- ]]>`,
];

const attributes = [
  `" onmouseover="window.wasHere=1`,
  `' autofocus onfocus='window.wasHere=1`,
  "` onclick=window.wasHere=1 `",
  `'-alert("wasHere")-'`,
];

const addresses = [
  `javascript:window.wasHere=1`,
  `JaVaScRiPt\t:window.wasHere=1//`,
  `data:text/html,<script>window.wasHere=1</script>`,
  `//evil.example/wasHere`,
  `../../wasHere?a=b&c=%2e%2e%2f#d`,
  `wasHere%00%0d%0aSet-Cookie: a=b`,
];

const expressions = [
  `{{constructor.constructor("window.wasHere=1")()}}`,
  "${window.wasHere=1}",
  `<%= window.wasHere=1 %>`,
  `&lt;b data-evil&gt;wasHere&lt;/b&gt; &amp;amp;`,
];

const characters = [
  `\u202Egnp.exe wasHere\u2066 <b data-evil>bold</b>`,
  `wasHere\u0007\u001b[31m\u200b\ufeff\u2028\u2029\r\n\twasHere`,
  `wasHere 👩‍👩‍👧‍👦 Z̸̢̛a̵l̷g̸o̶`,
];

/** Names that mean something to JavaScript. */
export const specialNames = ["__proto__", "constructor", "toString", "hasOwnProperty", "then", "$hidden"];

/** What attackers write where a page shows text. Each contains `wasHere`. */
export const hostileTexts: readonly string[] = [
  ...elements,
  ...attributes,
  ...addresses,
  ...expressions,
  ...characters,
];

/** Some of each kind. */
export const someHostileTexts: readonly string[] = [
  elements[0]!,
  elements[1]!,
  elements[4]!,
  elements[6]!,
  elements[7]!,
  attributes[0]!,
  addresses[0]!,
  addresses[4]!,
  expressions[0]!,
  characters[0]!,
];

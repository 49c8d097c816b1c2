// biome-ignore-all lint/suspicious/noControlCharactersInRegex: this is about them

import { MarkdownStream } from '@millrace/markdown';
import { describe, expect, test } from 'vitest';
import { clipCells, wrapCells } from './cells/clip-text.ts';
import { printable } from './cells/printable.ts';
import { highlight } from './code/highlight.ts';
import { diffToAnsi } from './diff/diff-to-ansi.ts';
import { MarkdownRenderer, markdownToAnsi } from './markdown/markdown-renderer.ts';
import { colorTheme, plainTheme, type Theme, withHyperlinks } from './theme/theme.ts';

/** Sequences that attackers have used against terminals, or could use. */
const payloads: Readonly<Record<string, string>> = {
  'clear the screen': '\u001b[2J\u001b[3J\u001b[H',
  'a colour of its own': '\u001b[5;41mALERT\u001b[0m',
  'hide the text': '\u001b[8m',
  'move up and write over': '\u001b[1A\u001b[2Krm -rf /',
  'write over with a carriage return': 'rm -rf /\rls -la   ',
  'write over with backspaces': 'evil\b\b\b\bgood',
  'set the title': '\u001b]0;owned\u0007',
  'set the clipboard': '\u001b]52;c;ZXZpbA==\u0007',
  'a link of its own': '\u001b]8;;https://evil.example\u0007click\u001b]8;;\u0007',
  'a link that ends with ST': '\u001b]8;;https://evil.example\u001b\\click\u001b]8;;\u001b\\',
  'a file through iTerm': '\u001b]1337;File=inline=1:AAAA\u0007',
  'report the position': '\u001b[6n',
  'report the title': '\u001b[21t',
  'answer back': '\u0005',
  'device control': '\u001bP+q544e\u001b\\',
  'application program command': '\u001b_Gf=100;AAAA\u001b\\',
  'privacy message': '\u001b^x\u001b\\',
  'the other screen': '\u001b[?1049h',
  'mouse and paste modes': '\u001b[?1000h\u001b[?2004l',
  reset: '\u001bc',
  'line drawing': '\u001b(0\u000e',
  'C1: CSI': '\u009b2J',
  'C1: OSC': '\u009d0;owned\u009c',
  'C1: DCS, SOS, PM, APC': '\u0090x\u009c\u0098\u009e\u009f',
  bell: '\u0007',
  'NUL and the other C0':
    '\u0000\u0001\u0002\u0003\u0004\u0006\u000b\u000c\u000f\u0011\u001a\u001c\u001d\u001e\u001f',
  delete: '\u007f',
  'bidi overrides': '\u202eexe.txt\u202c \u202a\u202b\u202d',
  'bidi isolates': '\u2066\u2067\u2068\u2069',
  'bidi marks': '\u200e\u200f\u061c',
  'line separators': '\u2028\u2029',
  'half of a pair': '\ud83d',
  'an escape as an entity': '&#27;[2J &#x1b;]0;x&#7; &#155;2J &#8238;',
  'an escape as an escape': '\\\u001b[2J',
  'an escape cut by marks': '\u001b**[2J** \u001b`[2J`',
  'an escape sequence without end': '\u001b[31',
  'an OSC without end': '\u001b]8;;https://evil.example',
};

/** Places in a Markdown text that can contain a payload. */
const places: Readonly<Record<string, (payload: string) => string>> = {
  'a paragraph': (x) => `a ${x} b`,
  'the start': (x) => x,
  'a heading': (x) => `# ${x}`,
  emphasis: (x) => `**${x}** *a${x}*`,
  'code in a line': (x) => `\`${x}\``,
  'a code block': (x) => `\`\`\`ts\nconst a = "${x}"; // ${x}\n${x}\n\`\`\``,
  'an info string': (x) => `\`\`\`${x}\na\n\`\`\``,
  'indented code': (x) => `    ${x}`,
  'the text of a link': (x) => `[${x}](https://a.example)`,
  'the address of a link': (x) => `[a](https://a.example/${x}) [b](<https://a.example/${x}>)`,
  'the title of a link': (x) => `[a](https://a.example "${x}")`,
  'a bare address': (x) => `https://a.example/${x} <https://a.example/${x}>`,
  'an image': (x) => `![${x}](${x})`,
  'a list': (x) => `- ${x}\n  1. ${x}\n- [ ] ${x}`,
  'a quote': (x) => `> ${x}`,
  'a table': (x) => `| ${x} | b |\n|---|---|\n| ${x} | ${x} |`,
  HTML: (x) => `<div title="${x}">\n${x}\n</div>\n\n<b ${x}>`,
};

/**
 * A theme with codes that no payload contains. So all other codes in the output come from the
 * payload.
 */
const marked: Theme = {
  ...colorTheme,
  styles: Object.fromEntries(
    Object.keys(colorTheme.styles).map((role) => [role, ['95']]),
  ) as unknown as Theme['styles'],
};

/** Matches the sequences that our own code writes: colors, and links with complete addresses. */
const ours = /\u001b\[(?:95|39)m|\u001b\]8;;(?:https?:\/\/[a-z.]+\/[!-~]*)?\u0007/g;
const hostile =
  /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/;

function expectTame(text: string): void {
  expect(text.replace(ours, '')).not.toMatch(hostile);
  expect(text.isWellFormed()).toBe(true);
}

describe.each(Object.entries(payloads))('%s', (_, payload) => {
  test.each(Object.entries(places))('does nothing in %s', (_place, put) => {
    const text = put(payload);
    for (const width of [20, 80]) {
      expectTame(markdownToAnsi(text, { theme: marked, width }));
      expectTame(markdownToAnsi(text, { theme: withHyperlinks(marked), width }));
      expect(markdownToAnsi(text, { theme: plainTheme, width })).not.toMatch(hostile);
    }
  });

  test('does nothing when it comes in pieces', () => {
    const stream = new MarkdownStream();
    const renderer = new MarkdownRenderer({ theme: marked });
    for (const char of `${places['a code block']?.(payload)}\n\n${places['a table']?.(payload)}`) {
      stream.push(char);
      expectTame(renderer.render(stream.take(), 40).join('\n'));
      expectTame(renderer.preview(stream.tail, 40).join('\n'));
    }
    expectTame(renderer.render(stream.end(), 40).join('\n'));
  });

  test('does nothing in code, a diff, or text that is shown as it is', () => {
    for (const language of ['ts', 'html', 'klingon'])
      expectTame(highlight(payload, language, marked));
    const diff = `--- ${payload}\n+++ ${payload}\n@@ -1 +1 @@ ${payload}\n-${payload}\n+a${payload}\n${payload}`;
    expectTame(diffToAnsi(diff, { theme: marked, width: 20 }));
    expectTame(printable(payload).replaceAll('\t', ' '));
  });
});

/** Matches the only sequences that these functions must keep: colors and links. */
const painting = /\u001b\[[\d;:]*m|\u001b\]8;;[!-~]*\u0007/g;

test.each(Object.entries(payloads))(
  '%s does nothing in text that is wrapped or clipped',
  (_, payload) => {
    for (const text of [payload, `a ${payload} b`, `漢${payload}`]) {
      expect(wrapCells(text, 10).join('\n').replace(painting, '')).not.toMatch(hostile);
      expect(clipCells(text, 10).replace(painting, '')).not.toMatch(hostile);
    }
  },
);

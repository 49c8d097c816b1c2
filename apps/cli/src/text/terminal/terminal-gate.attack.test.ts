import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { runs } from '../../../../../packages/core/src/testing/runs.ts';
import { Notes, Output } from '../../print/output.ts';
import { CapturedOutput } from '../../testing/output-streams.ts';
import { onlyStyles, TerminalText, writeData, writeText } from './terminal-gate.ts';

const payloads: readonly (readonly [string, string])[] = [
  ['OSC 52, which sets the clipboard', '\u001b]52;c;ZXZpbA==\u0007'],
  ['OSC 8, which makes a link', '\u001b]8;;https://evil.example\u001b\\x\u001b]8;;\u001b\\'],
  ['OSC 0, which sets the title', '\u001b]0;owned\u0007'],
  ['OSC 9, which notifies', '\u001b]9;owned\u0007'],
  ['OSC 1337, which sends a file', '\u001b]1337;File=:AAAA\u0007'],
  ['CSI, which clears the screen', '\u001b[2J\u001b[H'],
  ['SGR, which hides text', '\u001b[8m'],
  ['DCS', '\u001bP+q544e\u001b\\'],
  ['APC', '\u001b_Gf=100;AAAA\u001b\\'],
  ['C1 CSI', '\u009b2J'],
  ['C1 OSC', '\u009d0;owned\u009c'],
  ['a bare CR', 'rm -rf /\rls -la  '],
  ['BEL', '\u0007'],
  ['backspaces', 'evil\b\b\b\bgood'],
  ['bidi overrides', '\u202eexe.txt\u202c'],
  ['a line separator', 'a\u2028b'],
];

const control =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these control a terminal
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/;

describe('a writer', () => {
  test.for(payloads)('attack 11: %s in a message is visible text', async ([, payload]) => {
    const [terminal, file] = [new CapturedOutput({ isTTY: true }), new CapturedOutput()];
    for (const stream of [terminal, file]) {
      writeText(stream, payload);
      await new Output(stream).write(`x ${payload}`);
      const notes = { hasColor: false, showDetails: true, isMidLine: () => false };
      await new Notes(stream, notes).write(payload);
      await new Notes(stream, notes).writeDetail(payload);
    }
    expect(terminal.text).not.toMatch(control);
    expect(file.text).not.toMatch(control);
  });

  test.for(payloads)('attack 11: %s in data is visible in a terminal only', async ([, payload]) => {
    const [terminal, file] = [new CapturedOutput({ isTTY: true }), new CapturedOutput()];
    for (const stream of [terminal, file]) writeData(stream, payload);
    expect(terminal.text).not.toMatch(control);
    expect(file.text).toBe(payload);
  });

  test.for(payloads)('attack 11: %s in a coloured text is visible', ([, payload]) => {
    const stream = new CapturedOutput({ isTTY: true });
    writeText(stream, TerminalText.of('a', TerminalText.styled('dim', payload, true), payload));
    expect(stream.text.replace('\u001b[2m', '').replace('\u001b[22m', '')).not.toMatch(control);
  });
});

test('a line keeps the colours of our renderer, and nothing else', () => {
  expect(onlyStyles('\u001b[1mbold\u001b[22m plain')).toBe('\u001b[1mbold\u001b[22m plain');
  const text = fc.string({ unit: 'binary', maxLength: 60 });
  const sequence = fc.constantFrom('\u001b[2J', '\u001b[31m', '\u001b]0;x\u0007', '\u009b', '\r');
  fc.assert(
    fc.property(fc.array(fc.oneof(text, sequence)), (pieces) => {
      // biome-ignore lint/suspicious/noControlCharactersInRegex: colours are made of these
      const colours = /\u001b\[[\d;:]*m|\u001b\]8;[^\u0000-\u001f]*(?:\u0007|\u001b\\)/g;
      expect(onlyStyles(pieces.join('')).replace(colours, '')).not.toMatch(control);
    }),
    { numRuns: runs(2000) },
  );
});

/** Files that may write to a stream, with the reason. */
const writers: Readonly<Record<string, string>> = {
  'text/terminal/terminal-gate.ts': 'it is the gate',
  'main.ts': 'it prints the version without loading anything',
  'chat/screen/coalesced-output.ts': 'it passes on the frames of Ink, whose lines passed the gate',
  'demo/essay.ts': 'its text contains an example program',
};
/** Files that may pass text to Ink. Each of them uses the gate. */
const drawers: Readonly<Record<string, RegExp>> = {
  'chat/screen/drawn-lines.tsx': /onlyStyles\(line\)/,
  'input/prompt/prompt.tsx': /printable\(raw\)/,
};

const source = fileURLToPath(new URL('../..', import.meta.url));
const files = globSync('**/*.{ts,tsx}', { cwd: source }).filter(
  (file) => !/\.test\.|(?:^|\/)testing\//.test(file),
);

const writes =
  /\b(?:stdout|stderr|terminal|tty)\s*\.\s*write\s*\(|\bconsole\s*\.\s*\w+\s*\(|\bstyleText\b/;
const draws = /\bText\b[^;]*from 'ink'/;

test('attack 11: no file writes to a stream or draws except through the gate', () => {
  const offenders = files.filter((file) => {
    const text = readFileSync(`${source}/${file}`, 'utf8').replaceAll(
      /^\s*(?:\/\/|\*|\/\*).*$/gm,
      '',
    );
    if (!(file in writers) && writes.test(text)) return true;
    return draws.test(text) && drawers[file]?.test(text) !== true;
  });
  expect(offenders).toEqual([]);
  expect(files).toEqual(expect.arrayContaining([...Object.keys(writers), ...Object.keys(drawers)]));
});

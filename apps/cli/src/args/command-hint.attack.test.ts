import { execFileSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { commandHint, resumeHint } from './command-hint.ts';
import { parseArgs } from './parse-args.ts';

// An imported session can have any printable id. The user pastes the commands that the terminal prints.

const ids = [
  '--yes',
  '--trust',
  '-p',
  '--config=/x',
  '--',
  "it's $(touch x)",
  '~',
  'eval/a',
  '0abc',
];
const places = { cwd: '-a b', config: '--yes', store: "a'b.db" };

/** Returns the arguments that a shell passes to the command. */
function split(command: string): readonly string[] {
  const text = execFileSync('sh', ['-c', `set -- ${command}; printf '%s\\0' "$@"`], {
    encoding: 'utf8',
  });
  return text.split('\0').slice(1, -1);
}

describe.each(ids)(
  '18.498: attack: the id %s becomes a flag of the command that the user pastes',
  (id) => {
    test.each([{}, places])('in the flag that resumes a session, with %j', (flags) => {
      const plain = parseArgs(split(commandHint(flags, '--continue')));
      const parsed = parseArgs(split(resumeHint(flags, id)));
      expect(parsed).toEqual({ ...plain, session: { id } });
      expect(parsed).toMatchObject(flags);
      const printed = parseArgs(split(resumeHint(flags, id, '-p "And now?"')));
      expect(printed).toMatchObject({ command: 'print', prompt: 'And now?', session: { id } });
    });

    test.each([{}, places])('as the last word, with %j', (flags) => {
      const parse = (words: string) => parseArgs(split(commandHint(flags, words, id)));
      expect(parse('attach')).toMatchObject({ command: 'attach', session: id, ...flags });
      const show = { command: 'sessions', action: 'show', operands: [id], ...flags };
      expect(parse('sessions show')).toMatchObject(show);
      expect(parse('sessions delete')).toMatchObject({ ...show, action: 'delete', yes: false });
    });
  },
);

import { hasColor } from '../print/has-color.ts';
import type { Check, Finding, Patient } from './finding.ts';

const about = 'terminal';
/** Below this the chat works, and is no pleasure. */
const least = { columns: 60, rows: 15 };

/** Whether the chat can be shown, and how. */
export const checkTerminal: Check = async (patient) => {
  const { stdin, stdout } = patient;
  if (!stdin.isTTY || !stdout.isTTY) {
    const text = 'No terminal: there is no chat here, only millrace -p';
    return [{ about, state: 'warn', text, advice: 'For the chat, start it in a terminal' }];
  }
  return [onSize(patient), ...onCharacters(patient)];
};

function onSize({ stdout, env }: Patient): Finding {
  const { columns = 0, rows = 0 } = stdout;
  const colours = hasColor(stdout, { env }) ? 'with colours' : 'without colours';
  const text = `${env['TERM'] ?? 'A terminal'}, ${columns} × ${rows}, ${colours}`;
  const isSmall = columns < least.columns || rows < least.rows;
  if (!isSmall) return { about, state: 'ok', text };
  const advice = `Make it larger, if you can: ${least.columns} × ${least.rows} or more`;
  return { about, state: 'warn', text, advice };
}

function onCharacters({ env, platform }: Patient): readonly Finding[] {
  const locale = env['LC_ALL'] || env['LC_CTYPE'] || env['LANG'] || '';
  // Elsewhere it does not say anything.
  if (platform !== 'linux' || /utf-?8/i.test(locale)) return [];
  const text = `The locale (${locale || 'none'}) is not UTF-8: some characters may not be shown`;
  return [{ about, state: 'warn', text, advice: 'Set LANG=C.UTF-8' }];
}

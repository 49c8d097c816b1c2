import type { SessionId } from '@millrace/core';
import type { SharedArgs } from '../args/args.ts';

/** What to type to go on with a session. What said where it is kept is needed again. */
export function resumeCommand(
  { cwd, config, store }: Pick<SharedArgs, 'cwd' | 'config' | 'store'>,
  session: SessionId,
): string {
  const places = Object.entries({ cwd, config, store }).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name} ${quoted(value)}`],
  );
  return ['millrace', ...places, `--resume ${session}`].join(' ');
}

/** As a shell takes it for one word. */
function quoted(text: string): string {
  return /^[\w./:@%+,~-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

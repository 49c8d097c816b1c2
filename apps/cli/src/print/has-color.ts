import type { Env } from '../models/env.ts';
import type { OutputStream } from './output.ts';

export interface ColorOptions {
  readonly env: Env;
  /** False after `--no-color`. */
  readonly color?: boolean | undefined;
}

/** Whether what is written there may have colours. The person's word counts more than the terminal's. */
export function hasColor(stream: OutputStream, { env, color = true }: ColorOptions): boolean {
  if (!color || env['NO_COLOR']) return false;
  const forced = env['FORCE_COLOR'];
  if (forced !== undefined) return forced !== '0' && forced !== 'false';
  return stream.isTTY === true && env['TERM'] !== 'dumb';
}

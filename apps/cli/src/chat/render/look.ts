import type { Style } from '../../text/theme/style.ts';
import { switchesOf } from '../../text/theme/style.ts';
import type { Role, Theme } from '../../text/theme/theme.ts';
import type { Tone } from '../state/block.ts';

/** What text is drawn for: how wide, and with which colours. */
export interface Look {
  readonly width: number;
  readonly theme: Theme;
  /** What the model thinks is shown in full. */
  readonly isUnfolded: boolean;
}

/** What a tone looks like: the roles that every theme has. */
const roles: { readonly [T in Exclude<Tone, 'plain'>]: Role } = {
  dim: 'muted',
  good: 'added',
  bad: 'removed',
  mark: 'number',
};

export function inTone({ theme }: Look, tone: Tone, text: string): string {
  return tone === 'plain' ? text : inStyle(theme.styles[roles[tone]], text);
}

export function inRole({ theme }: Look, role: Role, text: string): string {
  return inStyle(theme.styles[role], text);
}

function inStyle(style: Style, text: string): string {
  const { on, off } = switchesOf(style);
  return text === '' ? '' : `${on}${text}${off}`;
}

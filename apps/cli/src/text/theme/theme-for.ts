import type { Theme } from './theme.ts';
import { colorTheme, dumbTheme, plainTheme, withHyperlinks } from './themes.ts';

export interface Surroundings {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly isTTY: boolean;
}

/** How text may look there: FORCE_COLOR says it all, then NO_COLOR, then what the terminal is. */
export function themeFor({ env, isTTY }: Surroundings): Theme {
  const isDumb = env['TERM'] === 'dumb';
  if (!hasColor(env, isTTY && !isDumb)) return isDumb ? dumbTheme : plainTheme;
  return isTTY && hasHyperlinks(env) ? withHyperlinks(colorTheme) : colorTheme;
}

function hasColor(env: Surroundings['env'], isAble: boolean): boolean {
  const forced = env['FORCE_COLOR'];
  if (forced !== undefined) return !['0', 'false'].includes(forced);
  return isAble && (env['NO_COLOR'] ?? '') === '';
}

const linking = ['iTerm.app', 'WezTerm', 'vscode', 'ghostty', 'Hyper'];
/** From this version of VTE on, links are right. */
const linkingVte = 5000;

/** Only where they are known to work: elsewhere the address would be lost. */
function hasHyperlinks(env: Surroundings['env']): boolean {
  const forced = env['FORCE_HYPERLINK'];
  if (forced !== undefined) return forced !== '0';
  // What multiplexers pass on depends on their version, which they do not tell.
  if (env['TMUX'] !== undefined || /^(screen|tmux|dumb)/.test(env['TERM'] ?? '')) return false;
  return (
    linking.includes(env['TERM_PROGRAM'] ?? '') ||
    Number(env['VTE_VERSION'] ?? 0) >= linkingVte ||
    env['TERM'] === 'xterm-kitty' ||
    env['WT_SESSION'] !== undefined
  );
}

import picomatch from 'picomatch';
import type { PlacedPath } from './match-path.ts';
import type { ReadyRule } from './permission-rule.ts';
import { type Ruling, rulingOf, rulingRule } from './ruling.ts';
import type { PathKind } from './tool-kinds.ts';

export interface PathCall {
  readonly kind: PathKind;
  readonly path: PlacedPath;
  /** A search does not see what is denied. */
  readonly skipsDenied: boolean;
}

/** Decides on the use of a path by the rules of the tool that uses it. */
export function decidePath(rules: readonly ReadyRule[], call: PathCall): Ruling {
  const { kind, path } = call;
  const deciding = rulingRule(rules.filter((ready) => fits(ready, path)));
  const isAllowed =
    deciding === undefined ? kind !== 'write' && path.isInside : deciding.rule.decision === 'allow';
  const hidden = kind === 'search' && isAllowed && !call.skipsDenied && !deciding?.isRemembered;
  const denied = hidden ? rules.find((ready) => isDeniedBelow(ready, path)) : undefined;
  if (denied !== undefined) {
    const reason = `A search of ${path.shown} would show ${denied.rule.path}, which is denied`;
    return { decision: 'ask', reason };
  }
  if (kind === 'write' && deciding?.rule.yields && isOfGit(path)) {
    const reason = `${path.shown} is of git itself, and may have it run programs`;
    return { decision: 'ask', reason };
  }
  const what = `${{ read: 'To read', search: 'To search', write: 'To write' }[kind]} ${path.shown}`;
  return deciding === undefined ? byDefault(what, call) : rulingOf(deciding, what);
}

/** Hooks and settings: who writes them has git run what they like. */
function isOfGit({ shown }: PlacedPath): boolean {
  return shown.toLowerCase().split('/').includes('.git');
}

/** Outside the root only what names an absolute path allows. */
function fits({ about, rule, fitsPath }: ReadyRule, path: PlacedPath): boolean {
  if (about === 'tool') return path.isInside || rule.decision !== 'allow';
  return about === 'path' && fitsPath(path);
}

function byDefault(what: string, { kind, path }: PathCall): Ruling {
  if (!path.isInside) return { decision: 'ask', reason: `${path.shown} is outside the workspace` };
  if (kind === 'write')
    return {
      decision: 'ask',
      reason: `No rule allows ${what.charAt(0).toLowerCase()}${what.slice(1)}`,
    };
  return { decision: 'allow', reason: `${what} is inside the workspace` };
}

/** Whether something that a rule denies may be in a folder. */
function isDeniedBelow({ rule, about }: ReadyRule, { shown, absolute }: PlacedPath): boolean {
  const { path: glob = '', exact = false, decision } = rule;
  if (about !== 'path' || decision !== 'deny') return false;
  // A glob of names may fit anywhere.
  if (!exact && !glob.includes('/')) return true;
  const base = asFolder(exact ? glob : picomatch.scan(glob).base);
  const folder = asFolder(glob.startsWith('/') ? absolute : shown);
  return base.startsWith(folder) || folder.startsWith(base);
}

function asFolder(path: string): string {
  const plain = path
    .replace(/^\.\/?/, '')
    .replace(/\/$/, '')
    .toLowerCase();
  return path === '' || path === '.' ? '' : `${plain}/`;
}

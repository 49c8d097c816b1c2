import { type LexicalPath, pathMatcher } from '../../workspace/match-path.ts';
import type { CompiledRule } from '../permission-rule.ts';

// Search workers import this file, so it must not import the agent package.

/** A rule that decides whether a tool needs an approval for a path. It can be sent to a different thread. */
export interface AskedPath {
  readonly glob: string;
  readonly exact: boolean;
  readonly decision: 'ask' | 'allow';
  /** See `PermissionRule.yields`. */
  readonly yields: boolean;
}

/**
 * Returns the rules that ask about paths, with the rules that allow some of these paths again, in their order. The
 * result is empty if no rule asks about a path.
 */
export function askedPathsOf(rules: readonly CompiledRule[]): readonly AskedPath[] {
  let asked: readonly AskedPath[] = [];
  for (const { rule, about, globs } of rules) {
    const { decision, path = '**', exact = false, yields = false } = rule;
    const isOfTool = about === 'tool' && decision === 'allow';
    if (isOfTool && !yields) asked = [];
    else if (about === 'path' && decision === 'ask')
      asked = [...asked, ...globs().map((one) => ({ ...one, decision, yields }))];
    else if (asked.length > 0 && decision === 'allow' && (about === 'path' || isOfTool))
      asked = [...asked, { glob: path, exact, decision, yields }];
  }
  return asked.some(({ decision }) => decision === 'ask') ? asked : [];
}

/**
 * Returns a function that tests whether a rule asks about a path. The rules that also ask about `searched` do not
 * count. As in a policy, the last rule decides, and a rule that asks has precedence over one that yields.
 */
export function askedMatcher(
  rules: readonly AskedPath[],
  searched: LexicalPath,
): (path: LexicalPath) => boolean {
  const compiled = rules.flatMap(({ glob, exact, decision, yields }) => {
    const isAsked = decision === 'ask';
    const matches = pathMatcher(glob, { exact, isWide: isAsked });
    return isAsked && matches(searched) ? [] : [{ isAsked, yields, matches }];
  });
  return (path) => {
    const fitting = compiled.filter(({ matches }) => matches(path));
    const last = fitting.at(-1);
    return last?.yields ? fitting.some(({ isAsked }) => isAsked) : last?.isAsked === true;
  };
}

import { AgentError } from '@millrace/agent';
import picomatch from 'picomatch';
import { type PlacedPath, pathMatcher } from './match-path.ts';
import { splitCommand } from './split-command.ts';

export type Decision = 'allow' | 'ask' | 'deny';

/** What to do with calls of a kind. It matches where all that it says does. */
export interface PermissionRule {
  /** The name of a tool, or a glob of names: `github__*`. Any tool, if not said. */
  readonly tool?: string | undefined;
  /**
   * A glob of paths below the root, or absolute: `src/**`, `/etc/**`. One without a slash is about names
   * at any depth: `.env`. Such a rule is about tools that take a path.
   */
  readonly path?: string | undefined;
  /** The words that a command begins with: `git status`. Such a rule is about tools that run commands. */
  readonly command?: string | undefined;
  /** The path is this one and no glob, the command this one and no beginning. */
  readonly exact?: boolean | undefined;
  readonly decision: Decision;
  /**
   * A yes to many things that was given in passing: it does not count for what another rule asks about, and
   * not for the files of git itself.
   */
  readonly yields?: boolean | undefined;
  /** For whoever is told: the model, or a person. */
  readonly reason?: string | undefined;
}

/** A rule in a form that is quick to hold against a call. */
export interface ReadyRule {
  readonly rule: PermissionRule;
  readonly isRemembered: boolean;
  fitsTool(name: string): boolean;
  /** What it is about: paths, commands, or whatever a tool does. */
  readonly about: 'path' | 'command' | 'tool';
  fitsPath(path: PlacedPath): boolean;
  /** The words that a command has to begin with. */
  readonly words: readonly string[];
}

/** Fails where it could not mean what whoever wrote it thought. */
export function readyRule(rule: PermissionRule, isRemembered: boolean): ReadyRule {
  const { tool = '*', path, command, exact = false, decision } = rule;
  if (!['allow', 'ask', 'deny'].includes(decision)) throw badRule(rule, 'its decision is none');
  if (tool === '') throw badRule(rule, 'its tool has no name');
  if (path !== undefined && command !== undefined) {
    throw badRule(rule, 'it has a path and a command, and no tool takes both');
  }
  if (exact && path === undefined && command === undefined) {
    throw badRule(rule, 'it is exact about nothing');
  }
  if (path === '' || path?.startsWith('!')) throw badRule(rule, 'its path is no glob of paths');
  return {
    rule,
    isRemembered,
    fitsTool: picomatch(tool, { dot: true }),
    about: aboutWhat(rule),
    fitsPath: path === undefined ? () => false : pathMatcher(path, rule),
    words: command === undefined || exact ? [] : wordsOf(rule, command),
  };
}

function aboutWhat({ path, command }: PermissionRule): ReadyRule['about'] {
  if (path !== undefined) return 'path';
  return command === undefined ? 'tool' : 'command';
}

function wordsOf(rule: PermissionRule, command: string): readonly string[] {
  const { parts, obstacle } = splitCommand(command);
  const [words = []] = parts;
  const isSimple = obstacle === undefined && parts.length === 1;
  if (isSimple && words.every(({ isPlain }) => isPlain)) return words.map(({ text }) => text);
  throw badRule(
    rule,
    `its command is not a few plain words${obstacle ? `: it has ${obstacle}` : ''}`,
  );
}

function badRule(rule: PermissionRule, why: string): AgentError {
  return new AgentError('bad_option', `Cannot use the rule ${JSON.stringify(rule)}: ${why}`);
}

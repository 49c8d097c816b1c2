import { isAbsolute, relative, resolve, sep } from 'node:path';
import { AgentError } from '@millrace/agent';
import picomatch from 'picomatch';
import { compileGlob } from '../workspace/compile-glob.ts';
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
export interface CompiledRule {
  readonly rule: PermissionRule;
  readonly isRemembered: boolean;
  matchesTool(name: string): boolean;
  /** What it is about: paths, commands, or whatever a tool does. */
  readonly about: 'path' | 'command' | 'tool';
  matchesPath(path: LexicalPath): boolean;
  /** The words that a command has to begin with. */
  readonly words: readonly string[];
}

/** Fails where it could not mean what whoever wrote it thought. */
export function compileRule(rule: PermissionRule, isRemembered: boolean): CompiledRule {
  const { tool = '*', path, command, exact = false, decision } = rule;
  if (!['allow', 'ask', 'deny'].includes(decision))
    throw invalidRuleError(rule, 'its decision is none');
  if (tool === '') throw invalidRuleError(rule, 'its tool has no name');
  if (path !== undefined && command !== undefined) {
    throw invalidRuleError(rule, 'it has a path and a command, and no tool takes both');
  }
  if (exact && path === undefined && command === undefined) {
    throw invalidRuleError(rule, 'it is exact about nothing');
  }
  if (path === '' || path?.startsWith('!'))
    throw invalidRuleError(rule, 'its path is no glob of paths');
  return {
    rule,
    isRemembered,
    matchesTool: picomatch(tool, { dot: true }),
    about: subjectOf(rule),
    matchesPath: path === undefined ? () => false : pathMatcher(path, rule),
    words: command === undefined || exact ? [] : wordsOf(rule, command),
  };
}

function subjectOf({ path, command }: PermissionRule): CompiledRule['about'] {
  if (path !== undefined) return 'path';
  return command === undefined ? 'tool' : 'command';
}

function wordsOf(rule: PermissionRule, command: string): readonly string[] {
  const { parts, unsupportedSyntax } = splitCommand(command);
  const [words = []] = parts;
  const isSimple = unsupportedSyntax === undefined && parts.length === 1;
  if (isSimple && words.every(({ isPlain }) => isPlain)) return words.map(({ text }) => text);
  throw invalidRuleError(
    rule,
    `its command is not a few plain words${unsupportedSyntax ? `: it has ${unsupportedSyntax}` : ''}`,
  );
}

function invalidRuleError(rule: PermissionRule, why: string): AgentError {
  return new AgentError('bad_option', `Cannot use the rule ${JSON.stringify(rule)}: ${why}`);
}

/** Where a path is, by its text alone. */
export interface LexicalPath {
  /** From the root on with `/`, '.' for the root, or absolute where it is outside. */
  readonly shown: string;
  readonly absolute: string;
  readonly isInside: boolean;
}

export function lexicalPath(root: string, given: string): LexicalPath {
  const absolute = resolve(root, given);
  const inside = relative(root, absolute);
  const isInside = inside !== '..' && !inside.startsWith(`..${sep}`) && !isAbsolute(inside);
  const shown = isInside ? inside.split(sep).join('/') || '.' : absolute;
  return { shown, absolute, isInside };
}

interface PathRule {
  readonly exact?: boolean | undefined;
  readonly decision: Decision;
}

/**
 * Whether a path fits. What allows is read narrowly: outside the root only an absolute glob allows. What
 * does not is read widely: with all that is below what fits, by name anywhere, and in any case of
 * letters, because on some file systems that is the same file.
 */
export function pathMatcher(
  glob: string,
  { exact = false, decision }: PathRule,
): (path: LexicalPath) => boolean {
  const pattern = glob.replace(/^(?:\.\/)+/, '').replace(/\/$/, '/**');
  const isWide = decision !== 'allow';
  const isAbsoluteGlob = glob.startsWith('/');
  const matchesNameOnly = !exact && !pattern.includes('/');
  const fits = exact ? equalTo(glob, isWide) : compileGlob(pattern, { nocase: isWide });
  return ({ shown, absolute, isInside }) => {
    const subject = isAbsoluteGlob ? absolute : shown;
    if (isWide) return candidates(subject, matchesNameOnly).some((path) => fits(path));
    return (isInside || isAbsoluteGlob) && fits(matchesNameOnly ? nameOf(subject) : subject);
  };
}

function equalTo(given: string, nocase: boolean): (path: string) => boolean {
  return nocase ? (path) => path.toLowerCase() === given.toLowerCase() : (path) => path === given;
}

/** A path and the folders it is in, or their names alone. */
function candidates(path: string, ofName: boolean): readonly string[] {
  const names = path.split('/');
  return ofName ? names : names.map((_, at) => names.slice(0, at + 1).join('/'));
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

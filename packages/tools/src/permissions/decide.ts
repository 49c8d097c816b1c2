import picomatch from 'picomatch';
import { type CommandPart, fitsCommand, mayFitCommand } from './match-command.ts';
import { type Decision, type PlacedPath, placePath, type ReadyRule } from './permission-rule.ts';
import type { Reading } from './reading/reading-command.ts';
import { isLauncher, splitCommand, type Word } from './split-command.ts';
import type { PathKind, ToolKind } from './tool-kinds.ts';

/** A call that is to be decided on. */
export interface PolicyCall {
  readonly tool: string;
  readonly input: unknown;
  /** Where its path leads, if known: a link may lead to what is denied. It is decided on as well. */
  readonly leadsTo?: string | undefined;
}

export interface Circumstances {
  readonly root: string;
  readonly kind: ToolKind;
  /** Searches do not see what is denied. */
  readonly skipsDenied: boolean;
  readonly read?: CommandCircumstances['read'];
}

/** Decides on a call by the rules of its tool. */
export function decide(call: PolicyCall, rules: readonly ReadyRule[], at: Circumstances): Ruling {
  switch (at.kind) {
    case 'run': {
      const command = commandOf(call);
      return command === undefined ? unclear(call) : decideCommand(rules, command, at);
    }
    case 'read':
    case 'search':
    case 'write':
      return decidePaths(call, rules, at, at.kind);
    case 'free':
      return byTool(call, rules) ?? { decision: 'allow', reason: `${call.tool} only asks` };
    case 'other':
      return byTool(call, rules) ?? { decision: 'ask', reason: `No rule allows ${call.tool}` };
  }
}

function decidePaths(
  call: PolicyCall,
  rules: readonly ReadyRule[],
  { root, skipsDenied }: Circumstances,
  kind: PathKind,
): Ruling {
  const given = pathOf(call);
  if (given === undefined) return unclear(call);
  const paths = [given, ...(call.leadsTo === undefined ? [] : [call.leadsTo])];
  const rulings = paths.map((path) =>
    decidePath(rules, { kind, path: placePath(root, path), skipsDenied }),
  );
  return strictest(rulings) ?? unclear(call);
}

function byTool({ tool }: PolicyCall, rules: readonly ReadyRule[]): Ruling | undefined {
  const deciding = rulingRule(rules.filter(({ about }) => about === 'tool'));
  return deciding && rulingOf(deciding, tool);
}

/** The path of a call: the root where it is left out, nothing where it is not a path. */
export function pathOf(call: PolicyCall): string | undefined {
  const fields = fieldsOf(call);
  return fields !== undefined && fields['path'] === undefined ? '.' : textOf(fields?.['path']);
}

export function commandOf(call: PolicyCall): string | undefined {
  return textOf(fieldsOf(call)?.['command']);
}

function fieldsOf({ input }: PolicyCall): Readonly<Record<string, unknown>> | undefined {
  const hasFields = typeof input === 'object' && input !== null;
  return hasFields ? (input as Readonly<Record<string, unknown>>) : undefined;
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function unclear({ tool }: PolicyCall): Ruling {
  return { decision: 'ask', reason: `What ${tool} is to do cannot be told from its input` };
}

/**
 * Decides on a command line by the rules of its tool. Each command in it is decided on by itself, and
 * the strictest decides on the whole.
 */
export function decideCommand(
  rules: readonly ReadyRule[],
  line: string,
  { root, read }: CommandCircumstances,
): Ruling {
  const { parts, targets, obstacle } = splitCommand(line);
  const decide = (words: readonly Word[]) =>
    decidePart(rules, { root, line, words, targets, obstacle }, read);
  const rulings = parts.map(decide);
  const ruling = strictest(rulings) ?? decide([]);
  const readings = rulings.flatMap((one) => one.readings ?? []);
  return ruling.decision === 'allow' && readings.length > 0 ? { ...ruling, readings } : ruling;
}

export interface CommandCircumstances {
  readonly root: string;
  /** What is looked at by a command that only looks at what may be looked at. */
  readonly read?: ((words: readonly Word[]) => Reading | undefined) | undefined;
}

function decidePart(
  rules: readonly ReadyRule[],
  part: CommandPart,
  read: CommandCircumstances['read'],
): Ruling {
  const what = shown(part);
  const deciding = rulingRule(rules.filter((ready) => fitsCommand(ready, part)));
  if (deciding === undefined) {
    const isFeared = part.obstacle !== undefined || rules.some((one) => mayFitCommand(one, part));
    const reading = isFeared ? undefined : read?.(part.words);
    if (reading !== undefined)
      return { decision: 'allow', reason: `${what} only looks`, readings: [reading] };
    const why = part.obstacle === undefined ? '' : `, and the command has ${part.obstacle}`;
    return { decision: 'ask', reason: `No rule allows ${what}${why}` };
  }
  const doubt = doubtAbout(rules, deciding, part);
  return doubt === undefined ? rulingOf(deciding, what) : { decision: 'ask', reason: doubt };
}

/** Why it is better to ask, though a rule allows it. Where that very line is allowed, there is no doubt. */
function doubtAbout(
  rules: readonly ReadyRule[],
  deciding: ReadyRule,
  part: CommandPart,
): string | undefined {
  const { rule, about } = deciding;
  if (rule.decision !== 'allow' || rule.exact) return undefined;
  const isBlindYes = about === 'tool' && isBlind(part);
  if (isBlindYes && rules.some(isNarrowNo)) {
    return `Some commands are not allowed, and what ${shown(part)} runs cannot be told`;
  }
  const feared = rulingRule(
    rules.filter((ready) => ready === deciding || mayFitCommand(ready, part)),
  );
  if (feared === undefined || feared === deciding) return undefined;
  const { command, path = command, decision } = feared.rule;
  const is = decision === 'deny' ? 'is denied' : 'is to be asked for';
  return `${shown(part)} may be about ${path}, which ${is}`;
}

function isBlind({ words, obstacle }: CommandPart): boolean {
  const isPlain = words[0]?.isPlain === true;
  return obstacle !== undefined || !isPlain || isLauncher(words.map(({ text }) => text));
}

function isNarrowNo({ rule, about }: ReadyRule): boolean {
  return about === 'command' && !rule.exact && rule.decision !== 'allow';
}

const maxShownLength = 100;

function shown({ words }: CommandPart): string {
  const text = words.map((word) => word.text).join(' ');
  if (text === '') return 'this command';
  return `\`${text.length > maxShownLength ? `${text.slice(0, maxShownLength)}…` : text}\``;
}

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

/** A decision, with why in words for whoever is told. */
export interface Ruling {
  readonly decision: Decision;
  readonly reason: string;
  /** What it looks at, where it is allowed because it only looks. Where that leads is not known here. */
  readonly readings?: readonly Reading[] | undefined;
}

const strictness = { allow: 0, ask: 1, deny: 2 } as const;

/** The strictest of several, the first of those that are alike. */
export function strictest(rulings: readonly Ruling[]): Ruling | undefined {
  return rulings.toSorted((a, b) => strictness[b.decision] - strictness[a.decision])[0];
}

/** Which of the rules that fit decides: one that denies, else the last, unless that one yields. */
export function rulingRule(fitting: readonly ReadyRule[]): ReadyRule | undefined {
  const last = fitting.at(-1);
  const asked = fitting.findLast(({ rule }) => rule.decision === 'ask');
  const counts = last?.rule.yields ? (asked ?? last) : last;
  return fitting.find(({ rule }) => rule.decision === 'deny') ?? counts;
}

export function rulingOf({ rule, isRemembered }: ReadyRule, what: string): Ruling {
  const { decision, reason } = rule;
  const by = isRemembered ? 'as decided before in this session' : 'by a rule';
  const verb = { allow: 'is allowed', ask: 'is to be asked for', deny: 'is denied' }[decision];
  return { decision, reason: `${what} ${verb} ${by}${reason === undefined ? '' : `: ${reason}`}` };
}

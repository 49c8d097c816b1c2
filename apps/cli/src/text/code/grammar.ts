import { createRequire } from 'node:module';
import type { HLJSApi, LanguageFn } from 'highlight.js';
import type { CodeRole } from '../theme/theme.ts';
import { grammarsOf } from './languages.ts';

// Grammars are loaded on demand, because most sessions use few languages. Rendering is synchronous,
// so they are loaded with `require`.
const load = createRequire(import.meta.url);
let engine: HLJSApi | undefined;

/**
 * The open modes of a grammar, for example a comment. The innermost mode is first. The list is
 * empty at the top level.
 */
export type Modes = readonly object[];

interface Highlighted {
  readonly pieces: readonly CodePiece[];
  readonly modes: Modes;
}

/**
 * Splits code of a known language into pieces. Joined together, the pieces are the original code.
 */
export function highlightWith(language: string, code: string): Highlighted {
  const { _emitter, _top } = engineWith(language).highlight(code, {
    language,
    ignoreIllegals: true,
  });
  const pieces = _emitter instanceof ScopeEmitter ? _emitter.pieces : [];
  const isWhole = pieces.map(({ text }) => text).join('') === code;
  return isWhole ? { pieces, modes: modesOf(_top) } : { pieces: [{ text: code }], modes: [] };
}

function engineWith(language: string): HLJSApi {
  engine ??= newEngine();
  for (const name of grammarsOf(language)) {
    if (engine.getLanguage(name) !== undefined) continue;
    engine.registerLanguage(name, load(`highlight.js/lib/languages/${name}`) as LanguageFn);
  }
  return engine;
}

function newEngine(): HLJSApi {
  const fresh = (load('highlight.js/lib/core') as HLJSApi).newInstance();
  fresh.configure({ __emitter: ScopeEmitter });
  return fresh;
}

interface Mode {
  readonly parent?: Mode;
}

/**
 * Returns the open modes. highlight.js creates a new object each time a mode opens. The prototype
 * of this object identifies the mode.
 */
function modesOf(top: Mode | undefined): Modes {
  const modes: object[] = [];
  for (let mode = top; mode?.parent !== undefined; mode = mode.parent) {
    modes.push(Object.getPrototypeOf(mode));
  }
  return modes;
}

/** A piece of code and its role. */
export interface CodePiece {
  readonly text: string;
  readonly role?: CodeRole | undefined;
}

/** Maps the scopes of highlight.js to roles. The longest matching scope is used. */
const roles: Readonly<Record<string, CodeRole | undefined>> = {
  keyword: 'keyword',
  literal: 'number',
  number: 'number',
  symbol: 'number',
  string: 'string',
  regexp: 'string',
  char: 'string',
  comment: 'comment',
  quote: 'comment',
  doctag: 'keyword',
  type: 'type',
  class: 'type',
  built_in: 'type',
  title: 'function',
  'title.class': 'type',
  section: 'function',
  variable: 'variable',
  'template-variable': 'variable',
  attr: 'attribute',
  attribute: 'attribute',
  property: 'attribute',
  'selector-class': 'attribute',
  'selector-id': 'attribute',
  'selector-tag': 'tag',
  tag: 'tag',
  name: 'tag',
  meta: 'meta',
  'meta.prompt': 'comment',
  bullet: 'keyword',
  link: 'string',
  addition: 'added',
  deletion: 'removed',
  // A `${…}` inside a string contains code, so it does not have the role of a string.
  subst: undefined,
};

/** Collects the scopes from highlight.js directly. So its HTML need not be parsed. */
class ScopeEmitter {
  readonly pieces: CodePiece[] = [];
  readonly #roles: (CodeRole | undefined)[] = [];

  addText(text: string): void {
    if (text !== '') this.pieces.push({ text, role: this.#roles.at(-1) });
  }

  startScope(scope: string): void {
    this.#roles.push(roleOf(scope, this.#roles.at(-1)));
  }

  endScope(): void {
    this.#roles.pop();
  }

  // highlight.js has two names for each method and calls both.
  openNode(scope: string): void {
    this.startScope(scope);
  }

  closeNode(): void {
    this.endScope();
  }

  __addSublanguage(emitter: object): void {
    if (!(emitter instanceof ScopeEmitter)) return;
    for (const piece of emitter.pieces) this.pieces.push(piece);
  }

  finalize(): void {}

  toHTML(): string {
    return '';
  }
}

function roleOf(scope: string, around: CodeRole | undefined): CodeRole | undefined {
  if (Object.hasOwn(roles, scope)) return roles[scope];
  const [first = ''] = scope.split('.');
  return Object.hasOwn(roles, first) ? roles[first] : around;
}

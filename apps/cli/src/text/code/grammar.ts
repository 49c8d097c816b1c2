import { createRequire } from 'node:module';
import type { HLJSApi, LanguageFn } from 'highlight.js';
import { grammarsOf } from './languages.ts';
import { type CodePiece, ScopeEmitter } from './scope-emitter.ts';

// Loading is lazy and yet at once: what is rendered cannot wait, and most need few languages.
const load = createRequire(import.meta.url);
let engine: HLJSApi | undefined;

/** The modes a grammar is in at some place, the innermost first; none where anything may begin. */
export type Modes = readonly object[];

export interface Highlighted {
  readonly pieces: readonly CodePiece[];
  readonly modes: Modes;
}

/** Code of a known language in pieces, which together are that code. */
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

/** Each mode is made anew when it begins; what it was made from says which it is. */
function modesOf(top: Mode | undefined): Modes {
  const modes: object[] = [];
  for (let mode = top; mode?.parent !== undefined; mode = mode.parent) {
    modes.push(Object.getPrototypeOf(mode));
  }
  return modes;
}

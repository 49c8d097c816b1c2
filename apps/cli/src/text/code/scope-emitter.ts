import type { CodeRole } from '../theme/theme.ts';

/** A piece of code and what it is. */
export interface CodePiece {
  readonly text: string;
  readonly role?: CodeRole | undefined;
}

/** highlight.js has many names for what a piece of code is; the longest that is known counts. */
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
  // Code inside of a string is code again.
  subst: undefined,
};

/** Takes what highlight.js finds, instead of HTML that would have to be read again. */
export class ScopeEmitter {
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

  // Two names for each, and both are called.
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

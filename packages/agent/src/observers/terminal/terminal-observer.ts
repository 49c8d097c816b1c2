import type { AgentEvent, ItemKind, LogRecord, Part } from '@millrace/core';
import { AgentError } from '../../contract/agent-error.ts';
import type { Observer } from '../../contract/observer.ts';
import { assertKnownOptions } from '../../known-options.ts';
import { TerminalScreen, type TextStyle } from './terminal-screen.ts';
import {
  type Line,
  lineOf,
  oneLine,
  printable,
  seconds,
  withColor,
  withoutColor,
} from './terminal-text.ts';

/** Options of `terminalObserver`. */
export interface TerminalOptions {
  /** Writes the output, for example to `process.stdout`. */
  readonly write: (text: string) => void;
  /** If true, the observer uses ANSI colors. Default: false. */
  readonly color?: boolean | undefined;
  /** Width of the terminal, in columns. One-line texts are cut to this width. Default: 80. */
  readonly columns?: number | undefined;
}

/**
 * Creates an observer that prints runs to a scrolling terminal: streamed text, one line per tool, and
 * errors. Control characters in model or tool output never reach the terminal.
 *
 * @example
 * ```ts
 * terminalObserver({ write: (text) => process.stdout.write(text), color: process.stdout.isTTY });
 * ```
 */
export function terminalObserver(options: TerminalOptions): Observer {
  assertKnownOptions('terminalObserver', options, { write: true, color: true, columns: true });
  const { write, columns = 80 } = options;
  if (!(columns >= 1)) throw badColumns(columns);
  const terminal = new Terminal(options.color ?? false, columns);
  return (_record: LogRecord, events: readonly AgentEvent[]) => {
    for (const event of events) terminal.show(event);
    const text = terminal.take();
    if (text !== '') write(text);
  };
}

/**
 * When a text is retracted, a quote of its start is printed. This is the maximum length of the quote, in
 * columns.
 */
const quoteLength = 40;

type EventOf<Type extends AgentEvent['type']> = Extract<AgentEvent, { readonly type: Type }>;

class Terminal {
  readonly #columns: number;
  readonly #screen: TerminalScreen;
  readonly #reasoning: TextStyle;
  /**
   * The items whose parts are printed. An item is removed when its turn finishes. An item without a turn is
   * removed when the item itself finishes.
   */
  readonly #items = new Map<string, EventOf<'item_started'>>();
  /** The first words of each completed text. They are removed when the turn of the text finishes. */
  readonly #quotes = new Map<string, string>();
  readonly #executions = new Map<string, EventOf<'tool_execution_started'>>();

  constructor(hasColor: boolean, columns: number) {
    this.#columns = columns;
    const paint = hasColor ? withColor : withoutColor;
    this.#screen = new TerminalScreen({ paint, maxSilentLength: columns });
    const label = hasColor ? '' : '(thinking) ';
    this.#reasoning = { tone: 'dim', label, isAnswer: false };
  }

  take(): string {
    return this.#screen.take();
  }

  show(event: AgentEvent): void {
    switch (event.type) {
      case 'item_started':
        if (event.kind === 'assistant' || event.kind === 'notification')
          this.#items.set(itemKeyOf(event), event);
        return;
      case 'item_finished':
        if (event.turn === 0) this.#items.delete(itemKeyOf(event));
        return;
      case 'assistant_text_delta':
        return this.#screen.append(keyOf(event), printable(event.text), answer);
      case 'text_delta':
        if (this.#kindOf(event) === 'notification')
          this.#screen.append(keyOf(event), printable(event.text), notice);
        return;
      case 'reasoning_delta':
        return this.#screen.append(keyOf(event), printable(event.text), this.#reasoning);
      case 'part_finished':
        return this.#finishPart(event);
      case 'part_retracted':
        return this.#retract(keyOf(event), event.reason);
      case 'attempt_superseded':
        return this.#supersede(event);
      case 'tool_execution_started':
        return this.#startExecution(event);
      case 'tool_execution_finished':
        return this.#finishExecution(event);
      case 'turn_finished':
        return this.#forget(event);
      case 'run_finished':
        for (const id of this.#blocksOf(`${event.session} `)) this.#screen.finish(id);
        return this.#line(lineOf(event));
      default:
        return this.#line(lineOf(event));
    }
  }

  #line(line: Line | undefined): void {
    if (line !== undefined) this.#screen.line(line.tone, oneLine(line.text, this.#columns));
  }

  #kindOf(event: OfItem): ItemKind | undefined {
    return this.#items.get(itemKeyOf(event))?.kind;
  }

  #blocksOf(prefix: string): readonly string[] {
    return this.#screen.blockIds.filter((id) => id.startsWith(prefix));
  }

  #finishPart(event: EventOf<'part_finished'>): void {
    const key = keyOf(event);
    const kind = this.#kindOf(event);
    if (kind === undefined) return;
    if (event.part !== undefined) this.#finishWhole(key, event.part, kind);
    else if (event.kind !== 'tool_call' && this.#screen.textOf(key) === undefined)
      this.#line(placeholderLine(event.kind));
    const shown = this.#screen.textOf(key);
    if (shown !== undefined) this.#quotes.set(key, quote(shown));
    this.#screen.finish(key);
  }

  /** Prints a part that arrived complete, or a part that replaces its streamed text. */
  #finishWhole(key: string, part: Part, kind: ItemKind): void {
    const shown = this.#screen.textOf(key);
    if (part.kind === 'structured' && shown !== undefined) return;
    const text = textOf(part);
    if (text === undefined) {
      this.#retract(key, 'replaced');
      return this.#line(part.kind === 'tool_call' ? undefined : placeholderLine(part.kind));
    }
    const isMore = shown === undefined || text.startsWith(shown);
    if (!isMore) this.#retract(key, 'replaced by what follows');
    const style = kind === 'notification' ? notice : answer;
    const how = part.kind === 'reasoning' ? this.#reasoning : style;
    this.#screen.append(key, isMore ? text.slice(shown?.length ?? 0) : text, how);
  }

  #retract(key: string, reason: string): void {
    const shown = this.#screen.remove(key);
    const quoted = shown === '' ? this.#quotes.get(key) : quote(shown);
    this.#quotes.delete(key);
    if (quoted !== undefined)
      this.#line({ tone: 'mark', text: `⌫ taken back (${reason}) ${quoted}` });
  }

  #supersede(event: EventOf<'attempt_superseded'>): void {
    const { session, turn, attempt } = event;
    const prefix = `${session} ${turn}.${attempt}.`;
    for (const id of this.#blocksOf(prefix)) this.#screen.remove(id);
    deleteThose(this.#quotes, prefix);
    this.#line(lineOf(event));
  }

  #startExecution(event: EventOf<'tool_execution_started'>): void {
    const key = `${event.session} ${event.executionId}`;
    this.#executions.set(key, event);
    this.#screen.beginLine(key, 'plain', this.#toolLine(event.summary));
  }

  #finishExecution(event: EventOf<'tool_execution_finished'>): void {
    const key = `${event.session} ${event.executionId}`;
    const started = this.#executions.get(key);
    this.#executions.delete(key);
    const outcome = outcomeOf(event, started?.time ?? event.time);
    if (this.#screen.endLine(key, outcome.tone, outcome.text)) return;
    const line = `${this.#toolLine(started?.summary ?? event.name)} ${outcome.text}`;
    this.#screen.line(outcome.tone, line);
  }

  /**
   * Returns the line for a tool. The line contains the summary, cut so that the outcome fits on the same
   * line.
   */
  #toolLine(summary: string): string {
    return `▸ ${oneLine(summary, Math.max(1, this.#columns - outcomeColumns))}`;
  }

  /** Removes the state of a finished turn. */
  #forget({ session, turn }: EventOf<'turn_finished'>): void {
    for (const [key, item] of this.#items)
      if (item.session === session && item.turn === turn) this.#items.delete(key);
    for (const its of [0, turn]) deleteThose(this.#quotes, `${session} ${its}.`);
  }
}

const answer: TextStyle = { tone: 'plain', label: '', isAnswer: true };
const notice: TextStyle = { tone: 'mark', label: '', isAnswer: true };

/**
 * The number of columns that the line needs besides the summary: for `▸`, two spaces, the longest outcome and
 * a time.
 */
const outcomeColumns = 20;

function keyOf({ session, partId }: { readonly session: string; readonly partId: string }): string {
  return `${session} ${partId}`;
}

interface OfItem {
  readonly session: string;
  readonly itemId: string;
}

function itemKeyOf({ session, itemId }: OfItem): string {
  return `${session} ${itemId}`;
}

function outcomeOf(event: EventOf<'tool_execution_finished'>, startMs: number): Line {
  const { outcome, isError, time } = event;
  const took = time - startMs >= 1000 ? ` ${seconds(time - startMs)}` : '';
  if (outcome === 'lost') return { tone: 'bad', text: '✗ lost' };
  if (outcome === 'discarded') return { tone: 'dim', text: '∅ discarded' };
  return isError ? { tone: 'bad', text: `✗ failed${took}` } : { tone: 'good', text: `✓${took}` };
}

function placeholderLine(kind: Part['kind']): Line {
  return { tone: 'dim', text: `[${kind}]` };
}

function textOf(part: Part): string | undefined {
  if (part.kind === 'text' || part.kind === 'reasoning') return printable(part.text);
  return part.kind === 'structured' ? printable(JSON.stringify(part.value)) : undefined;
}

function quote(text: string): string {
  const start = oneLine(text, quoteLength);
  return start === '' ? '' : `“${start}”`;
}

function deleteThose(map: Map<string, unknown>, prefix: string): void {
  for (const key of map.keys()) if (key.startsWith(prefix)) map.delete(key);
}

function badColumns(columns: number): AgentError {
  const message = `Cannot use ${columns} columns: columns must be at least 1`;
  return new AgentError('bad_option', message, { columns });
}

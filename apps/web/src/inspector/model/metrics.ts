import { addDecimals, type Delta, type LogRecord, type Stop, type Usage } from '@millrace/core';

/** One try at a model request, in metrics. */
interface AttemptMetrics {
  readonly turn: number;
  readonly attempt: number;
  readonly offset: number;
  readonly provider: string | undefined;
  readonly model: string | undefined;
  /** In ms since 1970. */
  readonly startedAt: number;
  readonly firstContentAt: number | undefined;
  readonly endedAt: number | undefined;
  /** When something of it was last heard. */
  readonly lastContentAt: number;
  /** Of all that streamed, to reckon with until its usage is told. */
  readonly characters: number;
  readonly usage: Usage | undefined;
  readonly stop: Stop | undefined;
  readonly isSuperseded: boolean;
}

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };

/** What attempts took, as a session goes on. */
export class MetricsCollector {
  readonly #attempts = new Map<string, Mutable<AttemptMetrics>>();

  get attempts(): readonly AttemptMetrics[] {
    return [...this.#attempts.values()];
  }

  add(record: LogRecord): void {
    if (record.attempt === 0) return;
    const metrics = this.#of(record);
    const { delta, fact, time } = record;
    // What tools say comes after the answer's end, and is none of its tokens.
    if (isContent(delta) && metrics.endedAt === undefined) {
      metrics.firstContentAt ??= time;
      metrics.lastContentAt = time;
      if (delta?.type === 'append_text') metrics.characters += delta.chunk.length;
    }
    if (fact === undefined) return;
    switch (fact.type) {
      case 'response_started':
        metrics.provider = fact.provider;
        metrics.model = fact.model;
        metrics.startedAt = time;
        return;
      case 'response_finished':
        metrics.usage = fact.usage;
        metrics.stop = fact.stop;
        metrics.endedAt ??= time;
        return;
      case 'usage_reported':
        metrics.usage = fact.usage;
        return;
      case 'attempt_superseded':
        metrics.isSuperseded = true;
        metrics.endedAt ??= time;
        return;
      default:
        return;
    }
  }

  #of({ turn, attempt, time, offset }: LogRecord): Mutable<AttemptMetrics> {
    const key = `${turn}.${attempt}`;
    const known = this.#attempts.get(key);
    if (known !== undefined) return known;
    const created: Mutable<AttemptMetrics> = {
      ...{
        turn,
        attempt,
        offset,
        startedAt: time,
        lastContentAt: time,
        characters: 0,
        isSuperseded: false,
      },
      ...{ provider: undefined, model: undefined, firstContentAt: undefined, endedAt: undefined },
      ...{ usage: undefined, stop: undefined },
    };
    this.#attempts.set(key, created);
    return created;
  }
}

/** A value over a time. */
export interface Point {
  readonly from: number;
  readonly to: number;
  readonly value: number;
  /** What to show of it. */
  readonly text: string;
  readonly offset: number;
  readonly turn: number;
  /** Of an attempt that was superseded. */
  readonly isSuperseded: boolean;
}

interface Series {
  readonly tokensPerSecond: readonly Point[];
  readonly firstTokenMs: readonly Point[];
  readonly context: readonly Point[];
  /** Of all attempts so far, in one currency: that of the first cost. */
  readonly cost: readonly Point[];
  readonly currency: string | undefined;
}

export function seriesOf(attempts: readonly AttemptMetrics[]): Series {
  return {
    tokensPerSecond: attempts.flatMap(rate),
    firstTokenMs: attempts.flatMap(firstToken),
    context: attempts.flatMap(context),
    ...costs(attempts),
  };
}

function at({ turn, offset, isSuperseded }: AttemptMetrics) {
  return { turn, offset, isSuperseded };
}

/** So many characters are a token, roughly, in the languages that most is written in. */
const charactersPerToken = 4;

/** From the first token to the end, or as far as it came: what was waited for before is another figure. */
function rate(metrics: AttemptMetrics): readonly Point[] {
  const { firstContentAt: from, endedAt, lastContentAt, usage, characters } = metrics;
  const to = endedAt ?? lastContentAt;
  if (from === undefined || to <= from) return [];
  const isTold = usage !== undefined && usage.output > 0;
  const tokens = isTold ? usage.output : characters / charactersPerToken;
  if (tokens === 0) return [];
  const value = tokens / ((to - from) / 1000);
  const about = isTold && !usage.estimated ? '' : '≈ ';
  return [{ from, to, value, text: `${about}${rounded(value)} tokens/s`, ...at(metrics) }];
}

function firstToken(metrics: AttemptMetrics): readonly Point[] {
  const { startedAt: from, firstContentAt: to } = metrics;
  if (to === undefined || to < from) return [];
  return [{ from, to, value: to - from, text: `${rounded(to - from)} ms`, ...at(metrics) }];
}

/** What the next request would begin with: all that was sent, and what was answered. */
function context(metrics: AttemptMetrics): readonly Point[] {
  const { usage, startedAt: from, endedAt } = metrics;
  if (usage === undefined) return [];
  const value = usage.input + usage.output;
  const text = `${value.toLocaleString('en')} tokens`;
  return [{ from, to: endedAt ?? from, value, text, ...at(metrics) }];
}

/** Added exactly, and only then created a number, to be drawn. */
function costs(attempts: readonly AttemptMetrics[]): Pick<Series, 'cost' | 'currency'> {
  const currency = attempts.flatMap(({ usage }) => usage?.costs ?? [])[0]?.currency;
  let sum = '0';
  const cost = attempts.flatMap((metrics): readonly Point[] => {
    const own = metrics.usage?.costs.find((one) => one.currency === currency);
    if (own === undefined) return [];
    sum = addDecimals(sum, own.amount);
    const { startedAt: from, endedAt } = metrics;
    const text = `${sum} ${currency}`;
    return [{ from, to: endedAt ?? from, value: Number(sum), text, ...at(metrics) }];
  });
  return { cost, currency };
}

function rounded(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString('en') : value.toFixed(1);
}

/** Does something come with it that can be read? A begin alone is only a name. */
export function isContent(delta: Delta | undefined): boolean {
  switch (delta?.type) {
    case 'append_text':
    case 'append_bytes':
    case 'replace_structured':
    case 'commit_part':
      return true;
    default:
      return false;
  }
}

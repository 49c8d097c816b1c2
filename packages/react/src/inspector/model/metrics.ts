import { addDecimals, type LogRecord, type Stop, type Usage } from '@millrace/core';
import { isContent } from '@millrace/core/spans';

/** The measurements of one attempt at a model request. */
interface AttemptMetrics {
  readonly turn: number;
  readonly attempt: number;
  readonly offset: number;
  readonly provider: string | undefined;
  readonly model: string | undefined;
  /** The time at which the attempt started, in ms since 1970. */
  readonly startedAt: number;
  readonly firstContentAt: number | undefined;
  readonly endedAt: number | undefined;
  /** The time at which the last content arrived. */
  readonly lastContentAt: number;
  /**
   * The number of streamed characters. The number of tokens is estimated from it until the provider
   * reports the usage.
   */
  readonly characters: number;
  readonly usage: Usage | undefined;
  readonly stop: Stop | undefined;
  readonly isSuperseded: boolean;
}

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };

/** Collects the measurements of all attempts from records. */
export class MetricsCollector {
  readonly #attempts = new Map<string, Mutable<AttemptMetrics>>();

  get attempts(): readonly AttemptMetrics[] {
    return [...this.#attempts.values()];
  }

  add(record: LogRecord): void {
    if (record.attempt === 0) return;
    const metrics = this.#of(record);
    const { delta, fact, time } = record;
    // Content after the end of the answer is tool output, and does not count for the model.
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

/** A value and the period to which it applies. */
export interface Point {
  readonly from: number;
  readonly to: number;
  readonly value: number;
  /** The label of the value. */
  readonly text: string;
  readonly offset: number;
  readonly turn: number;
  /** True if the point belongs to a superseded attempt. */
  readonly isSuperseded: boolean;
}

interface Series {
  readonly tokensPerSecond: readonly Point[];
  readonly firstTokenMs: readonly Point[];
  readonly context: readonly Point[];
  /** The total cost of all attempts so far, in the currency of the first cost. */
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

function pointBase({ turn, offset, isSuperseded }: AttemptMetrics) {
  return { turn, offset, isSuperseded };
}

/** The average number of characters per token in English and similar languages. */
const charactersPerToken = 4;

/**
 * Returns the tokens per second between the first token and the end. The time before the first
 * token is a separate metric.
 */
function rate(metrics: AttemptMetrics): readonly Point[] {
  const { firstContentAt: from, endedAt, lastContentAt, usage, characters } = metrics;
  const to = endedAt ?? lastContentAt;
  if (from === undefined || to <= from) return [];
  const isTold = usage !== undefined && usage.output > 0;
  const tokens = isTold ? usage.output : characters / charactersPerToken;
  if (tokens === 0) return [];
  const value = tokens / ((to - from) / 1000);
  const about = isTold && !usage.estimated ? '' : '≈ ';
  return [{ from, to, value, text: `${about}${rounded(value)} tokens/s`, ...pointBase(metrics) }];
}

function firstToken(metrics: AttemptMetrics): readonly Point[] {
  const { startedAt: from, firstContentAt: to } = metrics;
  if (to === undefined || to < from) return [];
  return [{ from, to, value: to - from, text: `${rounded(to - from)} ms`, ...pointBase(metrics) }];
}

/**
 * Returns the size of the context after the attempt: the tokens of the request plus the tokens of
 * the answer.
 */
function context(metrics: AttemptMetrics): readonly Point[] {
  const { usage, startedAt: from, endedAt } = metrics;
  if (usage === undefined) return [];
  const value = usage.input + usage.output;
  const text = `${value.toLocaleString('en')} tokens`;
  return [{ from, to: endedAt ?? from, value, text, ...pointBase(metrics) }];
}

/**
 * Returns the total cost after each attempt. The sum uses exact decimals. It is converted to a
 * number only for drawing.
 */
function costs(attempts: readonly AttemptMetrics[]): Pick<Series, 'cost' | 'currency'> {
  const currency = attempts.flatMap(({ usage }) => usage?.costs ?? [])[0]?.currency;
  let sum = '0';
  const cost = attempts.flatMap((metrics): readonly Point[] => {
    const own = metrics.usage?.costs.find((one) => one.currency === currency);
    if (own === undefined) return [];
    sum = addDecimals(sum, own.amount);
    const { startedAt: from, endedAt } = metrics;
    const text = `${sum} ${currency}`;
    return [{ from, to: endedAt ?? from, value: Number(sum), text, ...pointBase(metrics) }];
  });
  return { cost, currency };
}

function rounded(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString('en') : value.toFixed(1);
}

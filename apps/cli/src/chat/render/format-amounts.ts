import type { Cost } from '@millrace/core';

/** Formats a duration: `0.3 s`, `12 s`, `2 min 5 s`. */
export function formatDuration(ms: number): string {
  const seconds = Math.max(0, ms) / 1000;
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  return `${Math.floor(whole / 60)} min ${whole % 60} s`;
}

/** Formats an age in its largest unit: `now`, `5 min`, `3 h`, `12 d`. */
export function formatAge(ms: number): string {
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 1) return 'now';
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h` : `${Math.floor(hours / 24)} d`;
}

/** Formats a number of tokens: `812`, `4.1k`, `1.2M`. */
export function formatTokens(count: number): string {
  if (count < 1000) return String(count);
  if (count < 999_500) return `${roundShort(count / 1000)}k`;
  return `${roundShort(count / 1_000_000)}M`;
}

function roundShort(value: number): string {
  return value < 9.95 ? value.toFixed(1) : String(Math.round(value));
}

const currencySigns: Readonly<Record<string, string>> = { USD: '$', EUR: '€', GBP: '£' };

/** Formats costs: `$0.0042`, `$1.20`. Costs in several currencies are joined with a plus sign. */
export function formatMoney(costs: readonly Cost[]): string {
  return costs.map(({ amount, currency }) => formatCost(Number(amount), currency)).join(' + ');
}

function formatCost(value: number, currency: string): string {
  const digits = value !== 0 && Math.abs(value) < 0.995 ? (Math.abs(value) < 0.01 ? 4 : 3) : 2;
  const sign = currencySigns[currency];
  return sign === undefined ? `${value.toFixed(digits)} ${currency}` : sign + value.toFixed(digits);
}

export function formatCount(number: number, one: string, many: string = `${one}s`): string {
  return number === 1 ? `1 ${one}` : `${number.toLocaleString('en')} ${many}`;
}

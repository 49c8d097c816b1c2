/** At most so many characters, with a mark where there were more. */
export function clip(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text.toWellFormed();
  return `${text.slice(0, Math.max(0, maxLength - 1)).toWellFormed()}…`;
}

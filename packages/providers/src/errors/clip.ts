const maxShown = 500;

/** Bodies of proxies can be whole pages. */
export function clip(text: string): string {
  return text.length > maxShown ? `${text.slice(0, maxShown)}…` : text;
}

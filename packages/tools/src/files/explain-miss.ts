import { nearestLines } from './nearest-lines.ts';
import { placeOf } from './places-of.ts';
import { countLines } from './text-file.ts';

const maxLineShown = 200;
const maxDifferences = 3;
/** Nobody gives so much and means it: what is near it is not looked for. */
const maxCompared = 100_000;

/** Why a text is not found, and what is near it, for a model that believes it is there. */
export function explainMiss(text: string, old: string, replacement: string): string {
  const found = 'old_text is not in the file';
  if (text === '') return `${found}: it is empty`;
  const unnumbered = old.replace(/^[ ]*\d+\t/gm, '');
  if (unnumbered !== old && placeOf(text, unnumbered) >= 0) {
    return `${found}, but it is without the line numbers that read shows. Leave them out`;
  }
  const done = replacement.trim() === '' ? -1 : placeOf(text, replacement);
  const already =
    done < 0 ? '' : ` new_text is there already, at line ${countLines(text.slice(0, done)) + 1}.`;
  if (old.length > maxCompared) return `${found}.${already} Give fewer lines, and read it again`;
  const lines = old.split('\n');
  const fileLines = text.split('\n');
  const near = nearestLines(fileLines, lines);
  if (near === undefined) return `${found}, nor anything like it.${already} Read it again`;
  const last = Math.min(near + lines.length, fileLines.length);
  const range = last === near + 1 ? `line ${last}` : `lines ${near + 1} to ${last}`;
  return `${found}.${already} The nearest is at ${range}:\n${differences(fileLines, lines, near)}`;
}

function differences(fileLines: readonly string[], lines: readonly string[], near: number): string {
  const told = lines.flatMap((line, index) => {
    const there = fileLines[near + index];
    const number = near + index + 1;
    if (there === undefined) return [`line ${number}: the file ends before it`];
    if (there === line || isPartOf(there, line, index, lines.length)) return [];
    const how = howDifferent(there, line);
    return [
      `line ${number} differs${how}:\n  file:     ${shown(there)}\n  old_text: ${shown(line)}`,
    ];
  });
  const rest = told.length - maxDifferences;
  const more = rest > 0 ? [`and ${rest} more lines differ`] : [];
  return [...told.slice(0, maxDifferences), ...more].join('\n');
}

/** The first of several lines may begin, and the last end, in the middle of one. */
function isPartOf(there: string, line: string, index: number, count: number): boolean {
  if (count === 1) return there.includes(line);
  return (index === 0 && there.endsWith(line)) || (index === count - 1 && there.startsWith(line));
}

function howDifferent(there: string, line: string): string {
  if (there.trim() !== line.trim()) {
    return there.replace(/\s+/g, '') === line.replace(/\s+/g, '') ? ' in its spaces' : '';
  }
  if (there.trimStart() === line.trimStart()) return ' in its indentation';
  if (there.trimEnd() === line.trimEnd()) return ' in the spaces at its end';
  return ' in its indentation and the spaces at its end';
}

/** In quotes, so that spaces and tabs can be told apart. */
function shown(line: string): string {
  return JSON.stringify(line.length > maxLineShown ? `${line.slice(0, maxLineShown)}…` : line);
}

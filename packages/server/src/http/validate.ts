import type { z } from 'zod';
import { ServerError } from '../contract/server-error.ts';

const maxIssues = 5;

/** The value as the schema has it; otherwise an error that says where it is not, and never what it was. */
export function validate<S extends z.ZodType>(
  schema: S,
  value: unknown,
  what: string,
): z.output<S> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const issues = result.error.issues.flatMap(flatten);
  const shown = issues.slice(0, maxIssues).map(({ path, message }) => `${path}: ${message}`);
  const more = issues.length > maxIssues ? ` (and ${issues.length - maxIssues} more)` : '';
  throw new ServerError('invalid', `Cannot take ${what} as it is: ${shown.join('; ')}${more}`);
}

interface Issue {
  readonly path: string;
  readonly message: string;
}

/** Of a union, what its likeliest member says: the one that got furthest. */
function flatten(issue: z.core.$ZodIssue): readonly Issue[] {
  const path = issue.path.length === 0 ? '(all of it)' : issue.path.map(String).join('.');
  if (issue.code === 'invalid_union' && issue.errors.length > 0) {
    const nearest = issue.errors.toSorted((a, b) => depthOf(b) - depthOf(a))[0] ?? [];
    return nearest.map(({ message, path: inner }) => ({
      path: [...issue.path, ...inner].map(String).join('.') || '(all of it)',
      message,
    }));
  }
  return [{ path: path.slice(0, 200), message: issue.message }];
}

function depthOf(issues: readonly z.core.$ZodIssue[]): number {
  return Math.max(0, ...issues.map(({ path }) => path.length));
}

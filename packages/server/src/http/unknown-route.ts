import { ServerError } from '../contract/server-error.ts';
import type { Method, Route } from './route.ts';

/** There is nothing at that path, or not for that method. */
export function notFound(
  { method, url }: { readonly method: string; readonly url: string },
  routes: readonly Route[],
): ServerError {
  const path = url.split('?', 1)[0] ?? '';
  const allowed = methodsAt(path, routes);
  if (allowed.length === 0) {
    const message = 'Cannot find this path. /openapi.json has those that there are';
    return new ServerError('not_found', message);
  }
  const message = `Cannot ${method} here. This path takes ${allowed.join(', ')}`;
  const details = { allow: allowed.join(', ') };
  return new ServerError('method_not_allowed', message, {}, { details });
}

function methodsAt(path: string, routes: readonly Route[]): readonly Method[] {
  const found = routes.filter((route) => fits(path, route.path));
  return [...new Set(found.map(({ method }) => method))];
}

function fits(path: string, pattern: string): boolean {
  const asked = path.split('/');
  const steps = pattern.split('/');
  return (
    asked.length === steps.length &&
    steps.every((step, index) => step === asked[index] || (step.startsWith('{') && asked[index]))
  );
}

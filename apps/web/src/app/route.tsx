import { type AnchorHTMLAttributes, type MouseEvent, useSyncExternalStore } from 'react';
import { basePath, belowBase } from '../server/base-path.ts';

/** The current page and its parameters. The URL contains all of them. */
export type Route =
  | { readonly page: 'new'; readonly agent?: string | undefined }
  | { readonly page: 'task'; readonly id: string; readonly at?: number | undefined }
  | { readonly page: 'inspect'; readonly id: string; readonly at?: number | undefined }
  /** Compares a task with another task. Default: with the task that it is a branch of. */
  | { readonly page: 'diff'; readonly id: string; readonly other?: string | undefined }
  /** Shows branches of a task side by side. Default: the newest branches. */
  | {
      readonly page: 'branches';
      readonly id: string;
      readonly shown?: readonly string[] | undefined;
    }
  | ({ readonly page: 'overview' } & OverviewFilter)
  /** Shows the experiment that `path` names. Default: all experiments. `ExperimentsPage` parses `path`. */
  | { readonly page: 'experiments'; readonly path?: string | undefined }
  | { readonly page: 'design' };

/** The range of time, the agent, its version and the model that the charts of the overview show. */
export interface OverviewFilter {
  /** The range of time, for example `7d`. Default: one day. */
  readonly range?: string | undefined;
  readonly agent?: string | undefined;
  readonly version?: string | undefined;
  readonly model?: string | undefined;
}

/**
 * Parses a URL. Below the base path, the paths of the web app start with `/app/`. All other paths
 * belong to the server.
 */
export function routeOf(href: string, base: string = basePath): Route {
  const { pathname, searchParams } = new URL(href, 'http://page');
  const [, app, page, id, view] = belowBase(pathname, base).split('/');
  const read = (name: string) => searchParams.get(name) ?? undefined;
  if (app === 'app') {
    if (page === 'overview') {
      const [agent, version, model] = [read('agent'), read('version'), read('model')];
      return { page, range: read('range'), agent, version, model };
    }
    if (page === 'experiments') return { page, path: href.split('/app/experiments')[1] };
    if (page === 'design') return { page };
    if (page === 'tasks' && id) {
      if (view === 'diff') return { page: view, id: decoded(id), other: read('other') };
      if (view === 'branches') {
        const shown = searchParams.getAll('with');
        return { page: view, id: decoded(id), shown: shown.length > 0 ? shown : undefined };
      }
      const at = offsetOf(searchParams.get('at'));
      return { page: view === 'inspect' ? view : 'task', id: decoded(id), at };
    }
  }
  return { page: 'new', agent: read('agent') };
}

export function hrefOf(route: Route, base: string = basePath): string {
  const task = (id: string) => `${base}/app/tasks/${encodeURIComponent(id)}`;
  switch (route.page) {
    case 'new':
      return withQuery(`${base}/`, [['agent', route.agent]]);
    case 'task':
      return withQuery(task(route.id), [['at', route.at]]);
    case 'inspect':
      return withQuery(`${task(route.id)}/inspect`, [['at', route.at]]);
    case 'diff':
      return withQuery(`${task(route.id)}/diff`, [['other', route.other]]);
    case 'branches':
      return withQuery(
        `${task(route.id)}/branches`,
        (route.shown ?? []).map((one) => ['with', one]),
      );
    case 'overview': {
      const { page, ...filter } = route;
      return withQuery(`${base}/app/${page}`, Object.entries(filter));
    }
    case 'experiments':
      return `${base}/app/${route.page}${route.path ?? ''}`;
    case 'design':
      return `${base}/app/${route.page}`;
  }
}

/** Adds the parameters that have a value to a path. */
function withQuery(
  path: string,
  parameters: readonly (readonly [name: string, value: string | number | undefined])[],
): string {
  const given = parameters.flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)]],
  );
  const query = new URLSearchParams(given).toString();
  return query === '' ? path : `${path}?${query}`;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function offsetOf(text: string | null): number | undefined {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

const moved = 'millrace:moved';

/**
 * Opens a route. With `replace`, the route replaces the current entry of the browser history. The
 * page uses this, for example, while the user drags the scrubber.
 */
export function navigate(route: Route, { replace = false }: { readonly replace?: boolean } = {}) {
  const href = hrefOf(route);
  if (href === location.pathname + location.search) return;
  if (replace) history.replaceState(null, '', href);
  else history.pushState(null, '', href);
  dispatchEvent(new Event(moved));
}

export function useRoute(): Route {
  const href = useSyncExternalStore(subscribe, () => location.pathname + location.search);
  return routeOf(href);
}

function subscribe(listener: () => void): () => void {
  addEventListener('popstate', listener);
  addEventListener(moved, listener);
  return () => {
    removeEventListener('popstate', listener);
    removeEventListener(moved, listener);
  };
}

interface LinkProps extends Omit<AnchorHTMLAttributes<HTMLAnchorElement>, 'href'> {
  readonly to: Route;
}

/**
 * A link within the app. If the user holds a modifier key, the browser handles the click, for
 * example to open a new tab.
 */
export function Link({ to, onClick, ...others }: LinkProps) {
  const go = (event: MouseEvent<HTMLAnchorElement>) => {
    onClick?.(event);
    const isOther = event.ctrlKey || event.metaKey || event.shiftKey || event.altKey;
    if (event.defaultPrevented || event.button !== 0 || isOther) return;
    event.preventDefault();
    navigate(to);
  };
  return <a {...others} href={hrefOf(to)} onClick={go} />;
}

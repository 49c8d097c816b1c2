import type { AnchorHTMLAttributes, MouseEvent } from 'react';
import { hrefOf, navigate, type Route } from './route.ts';

export interface LinkProps extends Omit<AnchorHTMLAttributes<HTMLAnchorElement>, 'href'> {
  readonly to: Route;
}

/** A link within the page. Whoever wants it in a new tab gets it there. */
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

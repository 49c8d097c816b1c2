import { type ReactNode, useEffect, useRef, useState } from 'react';
import { Button } from '../../design/button.tsx';

/** Scrolls where it is too long for its place, and says so: nothing is below unnoticed. */
export function ScrollBody({ children }: { readonly children: ReactNode }) {
  const body = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const [isMore, setMore] = useState(false);
  useEffect(() => {
    const [box, inner] = [body.current, content.current];
    if (box === null || inner === null) return;
    const look = () => setMore(box.scrollHeight - box.clientHeight - box.scrollTop > 4);
    const observer = new window.ResizeObserver(look);
    for (const element of [box, inner]) observer.observe(element);
    box.addEventListener('scroll', look);
    return () => {
      observer.disconnect();
      box.removeEventListener('scroll', look);
    };
  }, []);
  const down = () => body.current?.scrollBy({ top: body.current.clientHeight * 0.8 });
  return (
    <div className="approval-body">
      <div className="approval-scroll" ref={body} tabIndex={isMore ? 0 : undefined}>
        <div className="approval-content" ref={content}>
          {children}
        </div>
      </div>
      {isMore && (
        <Button size="small" onClick={down}>
          More below
        </Button>
      )}
    </div>
  );
}

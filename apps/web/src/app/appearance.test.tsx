import { expect, onTestFinished, test } from 'vitest';
import { openDomPage } from '../../../../packages/react/src/testing/dom-page.ts';

/** Renders a button for each setting. The browser storage starts with the given entries. */
async function renderSettings(stored: Readonly<Record<string, string>> = {}) {
  const page = await openDomPage('http://page.test/');
  const { localStorage } = page.window;
  Object.assign(globalThis, { localStorage });
  onTestFinished(() => void Reflect.deleteProperty(globalThis, 'localStorage'));
  for (const [key, value] of Object.entries(stored)) localStorage.setItem(key, value);
  const { applyAppearance, useSetting } = await import('./appearance.ts');
  applyAppearance();
  function Buttons() {
    const [theme, nextTheme] = useSetting('theme');
    const [density, nextDensity] = useSetting('density');
    return (
      <>
        <button type="button" className="theme" onClick={nextTheme}>
          {theme}
        </button>
        <button type="button" className="density" onClick={nextDensity}>
          {density}
        </button>
      </>
    );
  }
  await page.render(<Buttons />);
  const root = page.window.document.documentElement;
  return { page, root, localStorage };
}

test('the density changes the page at once and is stored', async () => {
  const { page, root, localStorage } = await renderSettings();
  expect(page.find('.density').textContent).toBe('comfortable');
  await page.click(page.find('.density'));
  expect(page.find('.density').textContent).toBe('compact');
  expect(root.getAttribute('data-density')).toBe('compact');
  expect(localStorage.getItem('millrace:density')).toBe('compact');
  await page.click(page.find('.density'));
  expect(root.hasAttribute('data-density')).toBe(false);
  expect(localStorage.getItem('millrace:density')).toBeNull();
});

test('stored settings apply before the first render', async () => {
  const stored = { 'millrace:theme': 'dark', 'millrace:density': 'compact' };
  const { page, root } = await renderSettings(stored);
  expect(root.getAttribute('data-theme')).toBe('dark');
  expect(root.getAttribute('data-density')).toBe('compact');
  expect(page.text()).toBe('darkcompact');
});

test('an unknown stored value counts as the default', async () => {
  const { page, root } = await renderSettings({ 'millrace:density': 'tiny' });
  expect(root.hasAttribute('data-density')).toBe(false);
  expect(page.text()).toBe('systemcomfortable');
});

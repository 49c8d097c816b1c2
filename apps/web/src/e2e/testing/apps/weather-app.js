// The app of the MCP server in `app-server.ts`. It runs in the frame of the page, with the app side of the
// official package.
import { App } from '@modelcontextprotocol/ext-apps';

const say = (id, text) => {
  document.querySelector(`#${id}`).textContent = text;
};
const onPress = (id, work) =>
  document.querySelector(`#${id}`).addEventListener('click', () => {
    work().then(
      (result) => say('answer', JSON.stringify(result)),
      (error) => say('answer', `error: ${error}`),
    );
  });

const app = new App({ name: 'weather', version: '1.0.0' }, {});
app.ontoolinput = ({ arguments: given }) => say('input', JSON.stringify(given));
app.ontoolresult = ({ structuredContent, _meta }) =>
  say('result', JSON.stringify({ ...structuredContent, hidden: _meta?.hidden }));
app.onhostcontextchanged = ({ theme }) => say('theme', `theme ${theme}`);

const call = (name, given) => app.callServerTool({ name, arguments: given });
onPress('refresh', () => call('refresh', { city: 'Bern' }));
onPress('order', () => call('order', { item: 'umbrella' }));
onPress('foreign', () => call('forecast', { city: 'Bern' }));
onPress('link', () => app.openLink({ url: 'https://weather.example/bern' }));
onPress('message', () =>
  app.sendMessage({ role: 'user', content: [{ type: 'text', text: 'Is it cold in Bern?' }] }),
);
onPress('grow', async () => {
  document.body.style.minHeight = '500px';
});
onPress('load', async () => (await fetch('https://api.weather.example/now')).text());

await app.connect();
const { theme, locale } = app.getHostContext() ?? {};
say('theme', `theme ${theme}`);
say('host', `${app.getHostVersion()?.name} ${locale}`);

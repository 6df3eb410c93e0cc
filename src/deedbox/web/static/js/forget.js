// What this tab remembers of a signature goes once the signer's part is over, and not before; other tabs hear of it.
import { memory } from './page.js';

for (const name of Object.keys(memory)) if (name.startsWith(`${location.pathname} `)) memory.removeItem(name);
new BroadcastChannel("deedbox").postMessage(location.pathname);

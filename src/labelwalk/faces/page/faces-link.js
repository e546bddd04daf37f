/** A way to the page of faces, where the service looks for them. */

import { byId } from "./dom.js";
import { facts } from "./faces-service.js";
import { on } from "./store.js";

/** Show the way where there is one. */
export function startFacesLink() {
  on("session", async () => {
    const found = await facts().catch(() => null);
    byId("to-faces").hidden = !found?.on;
  });
}
